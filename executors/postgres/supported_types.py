"""Types of which a server has the name but, by the way it was built, takes no value."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg

from executors.errors import Terminal
from executors.model import Destination, StageColumn
from executors.postgres.client import translate
from executors.postgres.ddl import Conn

# Elements of arrays and what is behind domains included.
_XML = """
WITH RECURSIVE part AS (
    SELECT c.name, to_regtype(c.declared)::oid AS oid FROM unnest(%s::text[], %s::text[]) AS c(name, declared)
    UNION SELECT part.name, unnest(ARRAY[t.typelem, t.typbasetype]) FROM pg_type t JOIN part ON part.oid = t.oid
)
SELECT name FROM part WHERE oid = 'xml'::regtype ORDER BY 1"""


@translate()
def require_supported(conn: Conn, dest: Destination, columns: Sequence[StageColumn]) -> None:
    """Raises Terminal `target.type_unsupported` for columns of XML on a server that was built without."""
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
            "it takes no value of that type.",
            hint="Make the column text, drop it in a transform, or use a server with XML support.",
        )


def _has_xml(conn: Conn) -> bool:
    try:
        with conn.transaction():
            conn.execute("SELECT '<a/>'::xml")
    except psycopg.errors.FeatureNotSupported:
        return False
    return True
