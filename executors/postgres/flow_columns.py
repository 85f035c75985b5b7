"""Columns that record the origin of rows. Distinguishes columns that Flow's loads fill from other columns with the same
names."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.stage_plan import FLOW_RUN, SOURCE_FILE_HASH, SOURCE_RECORD

_COMMENT_PREFIX = "Filled by Flow: "
_COMMENTS = {
    SOURCE_FILE_HASH: "the SHA-256 of the file of the row",
    FLOW_RUN: "the run that last wrote the row",
    SOURCE_RECORD: "the number of the row in its file",
}

# A column of a view originates in the tables that the view reads.
_ORIGINS = """
WITH RECURSIVE origin(relation, place) AS (
    SELECT a.attrelid, a.attnum FROM pg_attribute a WHERE a.attrelid = %(relation)s AND a.attname = %(name)s
    UNION
    SELECT d.refobjid, a.attnum FROM origin o JOIN pg_rewrite r ON r.ev_class = o.relation
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attname = %(name)s
)
SELECT relation::bigint, coalesce(starts_with(col_description(relation, place), %(comment_prefix)s), false)
FROM origin"""

_CAN_ASK = """
SELECT coalesce(has_table_privilege(to_regclass('flow_meta.load_commits'), 'SELECT')
                AND has_table_privilege(to_regclass('flow_meta.inherited_identities'), 'SELECT')
                AND has_schema_privilege(to_regnamespace('flow_meta'), 'USAGE'), false)"""

_IS_LOADED = """
SELECT EXISTS (
    SELECT FROM flow_meta.load_commits c WHERE c.target_oid IN (
        SELECT coalesce(i.first_oid, t.oid)
        FROM unnest(%s::bigint[]) AS t(oid) LEFT JOIN flow_meta.inherited_identities i ON i.oid = t.oid))"""


def comment_filled(conn: Conn, table: sql.Identifier, names: Collection[str]) -> None:
    """Add the comment that marks columns filled by loads to a newly created table."""
    for name in names:
        statement = sql.SQL("COMMENT ON COLUMN {}.{} IS {}")
        conn.execute(statement.format(table, sql.Identifier(name), sql.Literal(_COMMENT_PREFIX + _COMMENTS[name])))


def not_of_flow(conn: Conn, relations: Mapping[str, int]) -> list[str]:
    """Return the columns that no load has filled. `relations` maps each column name to the oid of its table or view."""
    return [name for name, relation in relations.items() if not _is_of_flow(conn, name, relation)]


def _is_of_flow(conn: Conn, name: str, relation: int) -> bool:
    origins = conn.execute(_ORIGINS, {"relation": relation, "name": name, "comment_prefix": _COMMENT_PREFIX}).fetchall()
    if any(is_commented for _, is_commented in origins):
        return True
    if conn.execute(_CAN_ASK).fetchone() != (True,):
        return False
    return conn.execute(_IS_LOADED, [[relation for relation, _ in origins]]).fetchone() == (True,)


def relations_of_query(conn: Conn, query: str) -> dict[str, int]:
    """Return the tables and views that the columns of a query are read from, by column name; 0 for computed columns."""
    result = conn.execute(sql.SQL("SELECT * FROM ({}\n) AS q WHERE false").format(sql.SQL(query))).pgresult
    if result is None:
        return {}
    return {(result.fname(index) or b"").decode(): result.ftable(index) for index in range(result.nfields)}
