"""`duplicateKey` ignores rows with NULL in a key column, and passes without rows.

If a load only adds rows, existing rows of the table count too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from psycopg import sql

from executors.postgres.checks.base import CheckHandler, Outcome, Staged, exactly, typed_columns
from executors.postgres.client import translate
from executors.postgres.names import identifier_of
from executors.table_name import TableName
from ir.checks import DuplicateKey
from ir.checks.base import Check
from ir.pointers import ROOT
from ir.words import counted


def run(staged: Staged, check: DuplicateKey) -> Outcome:
    return check_key(staged, check, check.columns)


def check_key(staged: Staged, check: Check, columns: Sequence[str]) -> Outcome:
    """Check a key. The observed value is the number of staged rows whose key is not unique."""
    query = sql.SQL(
        "SELECT coalesce(sum(k.n) FILTER (WHERE k.n > 1 OR k.there), 0), coalesce(sum(k.n) FILTER (WHERE k.n > 1), 0),"
        " count(*) FILTER (WHERE k.n > 1), coalesce(sum(k.n) FILTER (WHERE k.there), 0)"
        " FROM (SELECT g.n, {there} AS there FROM (SELECT {keys}, count(*) AS n FROM {rows} AND {known}"
        " GROUP BY {places}) AS g) AS k"
    ).format(
        there=_is_in_table(staged, columns) if staged.adds_rows else sql.SQL("false"),
        keys=_comma(_as(staged.exact(check, name), index) for index, name in enumerate(columns)),
        rows=staged.rows,
        known=sql.SQL(" AND ").join(sql.SQL("s.{} IS NOT NULL").format(sql.Identifier(name)) for name in columns),
        places=_comma(sql.Literal(index + 1) for index in range(len(columns))),
    )
    rows, repeated, keys, there = map(int, staged.one_row(query))
    return Outcome(_wrong(staged, columns, repeated, keys, there) if rows else None, rows)


def probe(staged: Staged, check: Check) -> None:
    """Check also that the table can be read."""
    typed_columns(staged, check)
    if staged.adds_rows:
        names = _comma(sql.Identifier(name) for name, _ in check.reads(ROOT))
        with translate(), staged.conn.transaction():
            staged.conn.execute(sql.SQL("SELECT {} FROM {} LIMIT 0").format(names, _table(staged)))


def _wrong(staged: Staged, columns: Sequence[str], repeated: int, keys: int, there: int) -> str:
    named, table = ", ".join(columns), TableName(staged.dest.schema, staged.dest.table)
    parts = [f"{counted(repeated, 'row')} with {counted(keys, 'repeated value')} of {named}"] if repeated else []
    if there:
        parts.append(f"{counted(there, 'row')} with values of {named} that already exist in {table}")
    return "; ".join(parts)


def _is_in_table(staged: Staged, columns: Sequence[str]) -> sql.Composed:
    same = [
        sql.SQL("{} = {}").format(exactly(sql.Identifier("t", name), column), sql.Identifier("g", _name(index)))
        for index, name in enumerate(columns)
        if (column := staged.dest.column(name)) is not None
    ]
    return sql.SQL("EXISTS (SELECT FROM {} AS t WHERE {})").format(_table(staged), sql.SQL(" AND ").join(same))


def _table(staged: Staged) -> sql.Identifier:
    return identifier_of(TableName(staged.dest.schema, staged.dest.table))


def _name(index: int) -> str:
    return f"k{index}"


def _as(value: sql.Composed, index: int) -> sql.Composed:
    return sql.SQL("{} AS {}").format(value, sql.Identifier(_name(index)))


def _comma(parts: Iterable[sql.Composable]) -> sql.Composed:
    return sql.SQL(", ").join(parts)


HANDLER = CheckHandler(DuplicateKey.kind, run, probe)
