"""Types that a server knows by name but does not support because of its build options."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from executors.errors import Terminal
from executors.model import Destination, StageColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn

# Also elements of arrays and base types of domains.
_XML = """
WITH RECURSIVE part AS (
    SELECT c.name, to_regtype(c.declared)::oid AS oid FROM unnest(%s::text[], %s::text[]) AS c(name, declared)
    UNION SELECT part.name, unnest(ARRAY[t.typelem, t.typbasetype]) FROM pg_type t JOIN part ON part.oid = t.oid
)
SELECT name FROM part WHERE oid = 'xml'::regtype ORDER BY 1"""


@translate()
def require_supported(conn: Conn, dest: Destination, columns: Sequence[StageColumn]) -> None:
    """Raise Terminal `target.type_unsupported` for columns of type XML on a server that was built without XML
    support."""
    declared = {c.name: there.declared for c in columns if c.type.kind == "pg" and (there := dest.column(c.name))}
    if not declared:
        return
    with conn.transaction():
        found = conn.execute(_XML, [list(declared), list(declared.values())]).fetchall()
    if found and not _has_xml(conn):
        name = found[0][0]
        raise Terminal(
            "target.type_unsupported",
            f"Column {name!r} is {declared[name]}, and this PostgreSQL server was built without XML support (libxml): "
            "it does not support values of that type.",
            hint="Make the column text, drop it in a transform, or use a server with XML support.",
        )


def _has_xml(conn: Conn) -> bool:
    try:
        with conn.transaction():
            conn.execute("SELECT '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True
