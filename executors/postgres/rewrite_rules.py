"""Finds rules of a table (CREATE RULE) that change the statements of a load, before anything is read."""

from __future__ import annotations

from psycopg import sql

from executors.errors import Terminal
from executors.model import Destination
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.names import identifier_of
from executors.table_name import TableName

_INSTEAD_OF_INSERT = "r.ev_type = '3' AND r.is_instead AND r.ev_qual::text = '<>'"
_ANY = "r.ev_type IN ('2', '3')"
_RULES = """
SELECT r.rulename FROM pg_rewrite r WHERE r.ev_class = %s::regclass AND r.ev_enabled IN ('O', 'A') AND {} ORDER BY 1"""


def refuse_replaced_inserts(conn: Conn, dest: Destination) -> Destination:
    """Refuse a table whose rules replace every INSERT. Rules with a condition are not refused: the load detects missing
    rows by counting."""
    return _refuse(conn, dest, _INSTEAD_OF_INSERT, "replaces every INSERT")


def refuse_any_rule(conn: Conn, dest: Destination) -> Destination:
    """Refuse a table with a rule on INSERT or UPDATE, because PostgreSQL does not support ON CONFLICT there."""
    return _refuse(conn, dest, _ANY, "is on INSERT or UPDATE, which an upsert cannot pass")


@translate()
def _refuse(conn: Conn, dest: Destination, which: str, why: str) -> Destination:
    table = TableName(dest.schema, dest.table)
    with conn.transaction():
        query = sql.SQL(_RULES).format(sql.SQL(which))
        rules = [name for (name,) in conn.execute(query, [identifier_of(table).as_string(conn)]).fetchall()]
    if rules:
        raise Terminal(
            "target.rules",
            f"{table} has the rule {rules[0]!r}, which {why}.",
            hint="Drop or disable it (ALTER TABLE … DISABLE RULE …), or replace it by a trigger.",
        )
    return dest
