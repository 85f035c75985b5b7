"""Dataset checks, run as SQL on the staged rows of the winning tasks: a table from kind to check.

A check never raises for data: it answers `ok`, a message and what it observed, without row values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from executors.errors import Terminal
from executors.model import CheckReport
from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.inspect import columns_of, inspect_target
from executors.postgres.meta import STAGING
from executors.postgres.names import TableName
from executors.postgres.staging import StagingTables, is_winner, one_number
from ir.checks import Check, FkIntegrity, RowCount
from ir.words import counted

BoundCheck = tuple[str, str, Check]
"""(id of the validate node, kind in the document's spelling, check)"""

Verdict = tuple[str | None, Any]
"""(what is wrong, None when all is well; what was observed)"""


@dataclass(frozen=True, slots=True)
class _Staged:
    """What a check looks at: `rows` is a FROM item, with the rows as `s`, and its condition."""

    conn: Conn
    tables: StagingTables
    rows: sql.Composed


@translate()
def run_checks(
    conn: Conn, tables: StagingTables, winners: Sequence[int], checks: Sequence[BoundCheck]
) -> list[CheckReport]:
    """Run the checks in their order and report on each."""
    rows = sql.SQL("{} AS s WHERE {}").format(tables.good_identifier, is_winner(winners, "s"))
    with conn.transaction():
        return [_run(_Staged(conn, tables, rows), *bound) for bound in checks]


def _run(staged: _Staged, node: str, kind: str, check: Check) -> CheckReport:
    wrong, observed = _handler(kind, node).run(staged, check)
    return CheckReport(node, kind, wrong is None, wrong, observed, check.on_fail)


@translate()
def probe_checks(conn: Conn, checks: Sequence[BoundCheck]) -> None:
    """Find out before the source is read what would keep a check from running. Raises Terminal."""
    for node, kind, check in checks:
        if probe := _handler(kind, node).probe:
            probe(conn, node, check)


def _row_count(staged: _Staged, check: RowCount) -> Verdict:
    """The staged rows lie within the bounds, both included. NULLs do not matter; no rows count as 0."""
    count = one_number(staged.conn, sql.SQL("SELECT count(*) FROM {}").format(staged.rows))
    if check.min is not None and count < check.min:
        return f"{counted(count, 'row')}, fewer than {check.min:,}", count
    if check.max is not None and count > check.max:
        return f"{counted(count, 'row')}, more than {check.max:,}", count
    return None, count


def _fk_integrity(staged: _Staged, check: FkIntegrity) -> Verdict:
    """Every value stands in the reference column; observed are the rows of which it does not. NULL passes, and so do
    no rows."""
    value, ref = _comparable(staged, check)
    query = sql.SQL(
        "SELECT count(*), count(DISTINCT {value}) FROM {rows} AND {value} IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM {table} AS r WHERE {ref} = {value})"
    ).format(value=value, ref=ref, rows=staged.rows, table=TableName.parse(check.ref_table).identifier)
    orphans, distinct = staged.conn.execute(query).fetchone() or (0, 0)
    if orphans == 0:
        return None, 0
    ref_name = f"{check.ref_table}.{check.ref_column}"
    return (
        f"{counted(orphans, 'row')} with {counted(distinct, 'value')} of {check.column!r} that {ref_name} lacks",
        orphans,
    )


_NUMBERS = {"smallint", "integer", "bigint", "numeric", "real", "double precision"}


def _comparable(staged: _Staged, check: FkIntegrity) -> tuple[sql.Composed, sql.Composed]:
    """Staged and referenced value in forms that can be compared: as they are where both are numbers or of one type,
    else as text."""
    value, ref = sql.Identifier("s", check.column), sql.Identifier("r", check.ref_column)
    ours, theirs = _base_of_staged(staged, check), _base_of_reference(staged.conn, check)
    if ours == theirs != "text" or {ours, theirs} <= _NUMBERS:
        return sql.SQL("{}").format(value), sql.SQL("{}").format(ref)
    # Columns of two tables may differ in collation, and then texts cannot be compared; bytes are what keys compare.
    text = sql.SQL('{}::text COLLATE "C"')
    if theirs == "uuid":
        return text.format(sql.SQL("lower({})").format(value)), text.format(ref)
    return text.format(value), text.format(ref)


def _base_of_staged(staged: _Staged, check: FkIntegrity) -> str:
    dest = inspect_target(staged.conn, STAGING, staged.tables.good)
    column = dest.column(check.column) if dest else None
    if column is None:
        raise Terminal(
            "check.column_unknown",
            f"fkIntegrity looks at column {check.column!r}, which does not reach the target.",
            hint="Name a column that the target loads.",
        )
    return column.base


def _base_of_reference(conn: Conn, check: FkIntegrity) -> str:
    columns = columns_of(conn, check.ref_table) or {}
    if check.ref_column in columns:
        return columns[check.ref_column].base
    lacks = f"no column {check.ref_column!r}" if columns else "no such table in the target's database"
    raise Terminal(
        "check.ref_missing",
        f"fkIntegrity on {check.column!r} refers to {check.ref_table}: there is {lacks}.",
        hint="Correct refTable and refColumn, or create what they name.",
    )


def _probe_reference(conn: Conn, node: str, check: FkIntegrity) -> None:
    try:
        _base_of_reference(conn, check)
        column, table = sql.Identifier(check.ref_column), TableName.parse(check.ref_table).identifier
        with translate(), conn.transaction():
            conn.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(column, table))
    except Terminal as error:
        error.node = node
        raise


@dataclass(frozen=True, slots=True)
class CheckHandler:
    """`probe` runs before the source is read, where a check needs more than staging."""

    kind: str
    run: Callable[..., Verdict]
    probe: Callable[..., None] | None = None


_HANDLERS = (
    CheckHandler("rowCount", _row_count),
    CheckHandler("fkIntegrity", _fk_integrity, _probe_reference),
)

CHECKS: dict[str, CheckHandler] = {handler.kind: handler for handler in _HANDLERS}
if len(CHECKS) != len(_HANDLERS):
    raise ValueError("two handlers for one kind of check")


def _handler(kind: str, node: str) -> CheckHandler:
    if kind not in CHECKS:
        raise Terminal(
            "kind.not_available",
            f"Check {kind!r} cannot run yet.",
            hint=f"Available: {', '.join(CHECKS)}.",
            node=node,
        )
    return CHECKS[kind]
