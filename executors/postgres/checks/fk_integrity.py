"""`fkIntegrity` ignores NULL, and passes without rows. The observed value is the number of rows whose value is not in
the reference column."""

from __future__ import annotations

from psycopg import sql

from executors.checks.base import CheckHandler, Outcome
from executors.errors import Terminal
from executors.postgres.checks.base import Staged
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.inspect import columns_of
from executors.postgres.names import identifier_of
from executors.postgres.queries import refuse_flow_tables
from executors.table_name import TableName
from executors.types import wire_type
from ir.checks import FkIntegrity
from ir.words import counted

_NUMBERS = {"smallint", "integer", "bigint", "numeric", "real", "double precision"}


def run(staged: Staged, check: FkIntegrity) -> Outcome:
    value, ref = _comparable(staged, check)
    query = sql.SQL(
        "SELECT count(*), count(DISTINCT {value}) FROM {rows} AND {value} IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM {table} AS r WHERE {ref} = {value})"
    ).format(value=value, ref=ref, rows=staged.rows, table=identifier_of(TableName.parse(check.ref_table)))
    orphans, distinct = staged.one_row(query)
    if orphans == 0:
        return Outcome(None, 0)
    ref_name = f"{check.ref_table}.{check.ref_column}"
    found = (
        f"{counted(orphans, 'row')} with {counted(distinct, 'value')} of {check.column!r} that {ref_name} does not have"
    )
    return Outcome(found, orphans)


def _comparable(staged: Staged, check: FkIntegrity) -> tuple[sql.Composed, sql.Composed]:
    """Return the staged and the referenced value in comparable forms: unchanged if both are numbers or have the same
    type, else as text."""
    value, ref = sql.Identifier("s", check.column), sql.Identifier("r", check.ref_column)
    staged_type, reference_type = _base_of_staged(staged, check), _base_of_reference(staged.conn, check)
    if staged_type == reference_type != "text" or {staged_type, reference_type} <= _NUMBERS:
        return sql.SQL("{}").format(value), sql.SQL("{}").format(ref)
    # Columns of two tables may differ in collation, which makes texts incomparable. Foreign keys compare bytes.
    text = sql.SQL('{}::text COLLATE "C"')
    if reference_type == "uuid":
        return text.format(sql.SQL("lower({})").format(value)), text.format(ref)
    return text.format(value), text.format(ref)


def _base_of_staged(staged: Staged, check: FkIntegrity) -> str:
    kind = wire_type(staged.column(check, check.column)[0].type).staged
    return {"timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone"}.get(
        kind, "numeric" if kind.startswith("numeric(") else kind
    )


def _base_of_reference(conn: Conn, check: FkIntegrity) -> str:
    columns = columns_of(conn, check.ref_table) or {}
    if check.ref_column in columns:
        return columns[check.ref_column].base
    lacks = f"no column {check.ref_column!r}" if columns else "no such table in the target's database"
    raise Terminal(
        "check.ref_missing",
        f"fkIntegrity on {check.column!r} refers to {check.ref_table}: there is {lacks}.",
        hint="Correct refTable and refColumn, or create the table or column.",
    )


def probe(staged: Staged, check: FkIntegrity) -> None:
    staged.column(check, check.column)
    _base_of_reference(staged.conn, check)
    column, table = sql.Identifier(check.ref_column), TableName.parse(check.ref_table)
    with translate(), staged.conn.transaction():
        refuse_flow_tables(staged.conn, [(table.schema, table.table)], f"fkIntegrity on {check.column!r}")
        staged.conn.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(column, identifier_of(table)))


HANDLER = CheckHandler(FkIntegrity.kind, run, probe)
