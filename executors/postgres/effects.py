"""Counts the changes of a load by queries on staging. The `effect` functions of load modes use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import sql

from executors.effects import MOST_SAMPLES, Effect, KeyMatch, NullRates, Sample
from executors.model import StageColumn
from executors.postgres.ddl import Conn
from executors.postgres.key_match import (
    comparable,
    differs,
    is_newer,
    own_rows,
    same_key,
    stored_value,
    value_columns,
)
from executors.postgres.load_plan import LoadPlan, winning_rows
from executors.postgres.staging import one_number
from executors.postgres.unique_keys import UniqueKey, list_unique_keys

LONGEST_VALUE = 200
"""The maximum number of characters of a value in a sample."""
MOST_SAMPLE_COLUMNS = 100


def added(conn: Conn, plan: LoadPlan) -> Effect:
    """Return the effect of adding all staged rows."""
    return effect_of(plan, before=count_rows(conn, plan), inserted=plan.staged, below_watermark=plan.skipped.rows)


def replaced(conn: Conn, plan: LoadPlan) -> Effect:
    """Return the effect of replacing all rows with the staged ones. Rows are matched by a unique key, if the table has
    one that identifies every row."""
    before, key = count_rows(conn, plan), identifying_key(conn, plan)
    keys = match_keys(conn, plan, key, winning_rows(plan), before) if key else None
    return effect_of(plan, before=before, inserted=plan.staged, deleted=before, keys=keys)


def effect_of(plan: LoadPlan, *, before: int, inserted: int, **counts: Any) -> Effect:
    return Effect(plan.run.node, str(plan.target), plan.load_mode, False, before, inserted, **counts)


def count_rows(conn: Conn, plan: LoadPlan) -> int:
    return one_number(conn, sql.SQL("SELECT count(*) FROM {} AS x").format(own_rows(plan)))


def identifying_key(conn: Conn, plan: LoadPlan) -> UniqueKey | None:
    """Return the first unique key whose columns are all loaded and cannot be NULL, unless NULLs count as equal."""
    given = {c.name for c in plan.columns}
    for key in list_unique_keys(conn, plan.target):
        names = [c.name for c in key.columns]
        may_be_null = any(plan.destination_column(name).nullable for name in names)
        if given.issuperset(names) and (key.nulls_not_distinct or not may_be_null):
            return key
    return None


def match_keys(conn: Conn, plan: LoadPlan, key: UniqueKey, source: sql.Composed, before: int) -> KeyMatch:
    """Match staged rows, with one row in `source` for each key, with the `before` rows of the target."""
    columns = value_columns(plan, key)
    matched, changed = _MATCHED, _changed(plan, key)
    newer = sql.SQL("({} AND {})").format(matched, is_newer(plan))
    counts = [
        sql.SQL("count(*) FILTER (WHERE NOT {})").format(matched),
        sql.SQL("count(*) FILTER (WHERE {} AND {} AND NOT {})").format(matched, changed, newer),
        sql.SQL("count(*) FILTER (WHERE {} AND NOT ({}) AND NOT {})").format(matched, changed, newer),
        sql.SQL("count(*) FILTER (WHERE {})").format(newer),
        *(
            sql.SQL("count(*) FILTER (WHERE {} AND NOT {} AND {})").format(matched, newer, _differs_in(plan, c))
            for c in columns
        ),
    ]
    query = sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(counts), _joined_with_table(plan, key, source))
    new, differ, same, older, *by_column = conn.execute(query).fetchone() or (0,) * len(counts)
    return KeyMatch(
        key=tuple(c.name for c in key.columns),
        new=new,
        changed=differ,
        same=same,
        older=older,
        gone=before - differ - same - older,
        columns=(found := {c.name: count for c, count in zip(columns, by_column, strict=True) if count}),
        samples=_samples(conn, plan, key, source, [c for c in columns if c.name in found]),
    )


def null_rates(conn: Conn, plan: LoadPlan) -> dict[str, NullRates]:
    """Return the NULL rates by column; empty if the target or staging has no rows to compare."""
    before, staged = _count_nulls(conn, plan, own_rows(plan)), _count_nulls(conn, plan, winning_rows(plan))
    if not before[0] or not staged[0]:
        return {}
    return {
        c.name: NullRates(in_target / before[0], in_staging / staged[0])
        for c, in_target, in_staging in zip(plan.columns, before[1:], staged[1:], strict=True)
    }


def _count_nulls(conn: Conn, plan: LoadPlan, rows: sql.Composable) -> Sequence[int]:
    """Return the number of rows, and of NULLs in each column."""
    nulls = [sql.SQL("count(*) - count(r.{})").format(sql.Identifier(c.name)) for c in plan.columns]
    query = sql.SQL("SELECT count(*), {} FROM {} AS r").format(sql.SQL(", ").join(nulls), rows)
    return conn.execute(query).fetchone() or (0,) * (len(nulls) + 1)


# --- a staged row `s` beside the row `x` of the target that has its key -------------------------------------------


def _joined_with_table(plan: LoadPlan, key: UniqueKey, source: sql.Composed) -> sql.Composed:
    return sql.SQL("{} AS s LEFT JOIN {} AS x ON {}").format(source, own_rows(plan), same_key(plan, key))


_MATCHED = sql.SQL("x.tableoid IS NOT NULL")


def _changed(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    return differs(plan, key, "x", lambda column: stored_value(plan, column))


def _differs_in(plan: LoadPlan, column: StageColumn) -> sql.Composed:
    existing = comparable(plan, column, sql.Identifier("x", column.name))
    incoming = comparable(plan, column, stored_value(plan, column))
    return sql.SQL("{} IS DISTINCT FROM {}").format(existing, incoming)


def _samples(
    conn: Conn, plan: LoadPlan, key: UniqueKey, source: sql.Composed, columns: Sequence[StageColumn]
) -> tuple[Sample, ...]:
    """Return the first rows that would change, ordered by key, with the first of the columns that differ."""
    if not columns:
        return ()
    columns, keys = columns[:MOST_SAMPLE_COLUMNS], [sql.Identifier("x", c.name) for c in key.columns]
    shown = [_shown(value) for value in keys]
    for column in columns:
        shown += [
            _differs_in(plan, column),
            _shown(sql.Identifier("x", column.name)),
            _shown(stored_value(plan, column)),
        ]
    query = sql.SQL("SELECT {} FROM {} WHERE {} AND {} AND NOT {} ORDER BY {} LIMIT {}").format(
        sql.SQL(", ").join(shown),
        _joined_with_table(plan, key, source),
        _MATCHED,
        _changed(plan, key),
        is_newer(plan),
        sql.SQL(", ").join(keys),
        sql.Literal(MOST_SAMPLES),
    )
    return tuple(_sample(row, [c.name for c in key.columns], columns) for row in conn.execute(query).fetchall())


def _shown(value: sql.Composable) -> sql.Composed:
    return sql.SQL("left(({})::text, {})").format(value, sql.Literal(LONGEST_VALUE))


def _sample(row: Sequence[Any], key: Sequence[str], columns: Sequence[StageColumn]) -> Sample:
    values = row[len(key) :]
    changes = {c.name: values[3 * i + 1 : 3 * i + 3] for i, c in enumerate(columns) if values[3 * i]}
    return Sample(dict(zip(key, row, strict=False)), changes)
