"""What only the database knows of a query that people wrote."""

from __future__ import annotations

from executors.postgres.ddl import Conn
from ir.queries import Query

_CHANGING_FUNCTIONS = """
SELECT DISTINCT n.nspname || '.' || p.proname
FROM unnest(%s::text[], %s::text[]) AS f(schema, name)
JOIN pg_proc p ON p.proname = f.name JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = coalesce(nullif(f.schema, ''), 'pg_catalog') AND p.provolatile = 'v' ORDER BY 1"""


def changing_functions(conn: Conn, query: Query) -> list[str]:
    """The functions of a query that may write, or answer otherwise each time."""
    schemas, names = [schema for schema, _ in query.functions], [name for _, name in query.functions]
    return [name for (name,) in conn.execute(_CHANGING_FUNCTIONS, [schemas, names]).fetchall()]
