"""upsert: updates rows whose key exists if they differ, and inserts the others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from psycopg import sql

from executors.accounting import describe_positions
from executors.effects import Effect
from executors.errors import InvalidContent
from executors.postgres import effects
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
from executors.postgres.key_match import (
    differs,
    is_newer,
    is_newer_than,
    key_values,
    keys_repeated_in_records,
    last_of_each_key,
    own_rows,
    repeated_keys,
    same_key,
    undecided_keys,
    value_columns,
)
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import (
    LoadPlan,
    ModeCounts,
    column_list,
    file_join,
    insert_columns,
    staged_value,
    staged_values,
    winning_rows_in_order,
)
from executors.postgres.may_replace import hold_replaced, require_no_others
from executors.postgres.names import identifier_of
from executors.postgres.rewrite_rules import refuse_any_rule
from executors.postgres.staging import is_winner, list_task_tables, one_number, require_staging
from executors.postgres.unique_keys import UniqueKey, find_unique_key
from executors.stage_plan import TASK

_RETURNS_OLD = 180000
"""From this server version on, RETURNING can return the row before the update."""

SAMPLE_ROWS = 1000


def merge(conn: Conn, plan: LoadPlan) -> ModeCounts:
    """Refuse repeated keys, then let ON CONFLICT update or insert each row. Rows that equal or are older than the
    table's rows are first excluded by a join if that is faster, or if a row trigger might prevent other rows."""
    plan = evolve(conn, plan)
    _give_memory(conn, plan)
    key = find_unique_key(conn, plan.target, plan.upsert_key)
    keys = _count_keys(conn, plan, key)
    held = hold_replaced(conn, plan, key)
    replaced = plan.staged - keys
    source = _one_of_each_key(conn, plan, key) if replaced else winning_rows_in_order(conn, plan)
    unwritten = _count_unwritten(conn, plan, key, source) if plan.dest.row_triggers else None
    joins_first = unwritten is not None or _many_stay(conn, plan, key)
    rows = _rows_to_write(plan, key, source) if joins_first else source
    row = conn.execute(_statement(conn, plan, key, rows)).fetchone()
    inserted, updated = row or (0, 0)
    require_no_others(plan, held, updated)
    if unwritten is None:
        # Without row triggers, only equality or age can prevent the write of a row.
        stay = keys - inserted - updated
        older = _count_older(conn, plan, key, source, stay)
        unwritten = _Unwritten(stay - older, older)
    return ModeCounts(inserted, updated, unwritten.equal, replaced, older=unwritten.older)


class _Unwritten(NamedTuple):
    """Rows of the table that do not change: equal to the staged row, or newer than it."""

    equal: int
    older: int


def _effect(conn: Conn, plan: LoadPlan) -> Effect:
    """Count each key once: its last row in source order."""
    _give_memory(conn, plan)
    key = find_unique_key(conn, plan.target, plan.upsert_key)
    before, replaced = effects.count_rows(conn, plan), plan.staged - _count_keys(conn, plan, key)
    source = _one_of_each_key(conn, plan, key) if replaced else winning_rows_in_order(conn, plan)
    keys = effects.match_keys(conn, plan, key, source, before)
    return effects.effect_of(
        plan,
        before=before,
        inserted=keys.new,
        updated=keys.changed,
        unchanged=keys.same,
        replaced=replaced,
        older=keys.older,
        keys=keys,
    )


def _give_memory(conn: Conn, plan: LoadPlan) -> None:
    """Raise work_mem, unless a hook has set it."""
    if "work_mem" not in plan.settings:
        conn.execute("SET LOCAL work_mem = '64MB'")


@contextmanager
def _setting(conn: Conn, name: str, value: str) -> Iterator[None]:
    """Apply a setting for the statements of the block, then restore the previous one, which a hook may have set. After
    an error nothing needs to be restored, because the transaction and its settings are rolled back."""
    before = conn.execute("SELECT current_setting(%s)", [name]).fetchone() or ("",)
    assign = sql.SQL("SET LOCAL {} = {}")
    conn.execute(assign.format(sql.Identifier(name), sql.Literal(value)))
    yield
    conn.execute(assign.format(sql.Identifier(name), sql.Literal(before[0])))


def _analyze(conn: Conn, plan: LoadPlan) -> None:
    """Analyze the staged rows. Without statistics the planner estimates a few thousand rows instead of a million and
    joins row by row. A small sample is sufficient and takes a fifth of the time. Task tables that are read one by one
    need no statistics."""
    all_rows = sql.SQL("{} ({})").format(plan.tables.good_identifier, column_list(plan.upsert_key))
    winners = [sql.SQL("{} ({})").format(name, sql.Identifier(TASK)) for name in list_task_tables(conn, plan.tables)]
    with _setting(conn, "default_statistics_target", "10"):
        conn.execute(sql.SQL("ANALYZE {}").format(sql.SQL(", ").join([all_rows, *winners])))


def _count_keys(conn: Conn, plan: LoadPlan, key: UniqueKey) -> int:
    """Count the distinct keys. Raises Transient `staging.lost` if the number of rows differs from the number staged."""
    query = sql.SQL("SELECT sum(k.n)::bigint, count(*) FROM (SELECT count(*) AS n FROM {} AS s GROUP BY {}) AS k")
    # Rows usually arrive in key order, and then sorting takes a third of the time of hashing, except for texts with a
    # linguistic collation, which compare slowly.
    sorts = all(column.collation is None for column in key.columns)
    with _setting(conn, "enable_hashagg", "off") if sorts else nullcontext():
        counts = conn.execute(query.format(winning_rows_in_order(conn, plan), key_values(plan, key))).fetchone()
    rows, keys = counts or (0, 0)
    if (rows or 0) != plan.staged:
        require_staging(conn, plan.tables, plan.winners, plan.staged, plan.rejected, plan.run.node)
    return int(keys)


def _one_of_each_key(conn: Conn, plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    """Return one row of each key. The choice is never arbitrary; raises Terminal `upsert.key_repeated` if no order
    decides."""
    _analyze(conn, plan)
    if plan.is_exploded:
        _require_distinct_rows(conn, plan, key)
    if not plan.keeps_order:
        _require_order(conn, plan, key)
    return last_of_each_key(plan, key)


def _require_distinct_rows(conn: Conn, plan: LoadPlan, key: UniqueKey) -> None:
    if refs := keys_repeated_in_records(conn, plan, key):
        raise InvalidContent(
            "upsert.key_repeated",
            f"Rows that are exploded from one record have the same key ({', '.join(plan.upsert_key)}): "
            f"{describe_positions(refs, {f.seq: f.name for f in plan.files})}.",
            node=plan.run.node,
            hint="The target was not loaded. Add a column that differs between the elements to upsertKey, for example "
            "that of indexAs.",
        )


def _require_order(conn: Conn, plan: LoadPlan, key: UniqueKey) -> None:
    if plan.order_by is None:
        refs, why = (
            repeated_keys(conn, plan, key),
            f"and the {'sources have' if plan.united else 'source has'} no order",
        )
    else:
        refs = undecided_keys(conn, plan, key, plan.order_by)
        why = f"the same {plan.order_by!r} and different values, so none of them is the last"
    if refs:
        raise InvalidContent(
            "upsert.key_repeated",
            f"Rows have the same key ({', '.join(plan.upsert_key)}), {why}: "
            f"{describe_positions(refs, {f.seq: f.name for f in plan.files})}.",
            node=plan.run.node,
            hint="The target was not loaded. Name the column whose highest value is the newest in orderBy, or make the "
            "key unique at the source.",
        )


def _count_unwritten(conn: Conn, plan: LoadPlan, key: UniqueKey, source: sql.Composed) -> _Unwritten:
    query = sql.SQL(
        "SELECT count(*) FILTER (WHERE NOT {newer} AND NOT ({differs})), count(*) FILTER (WHERE {newer})"
        " FROM {source} AS s JOIN {table} AS x ON {same}"
    ).format(
        newer=is_newer(plan),
        differs=_differs_from_staged(plan, key),
        source=source,
        table=own_rows(plan),
        same=same_key(plan, key),
    )
    return _Unwritten(*(conn.execute(query).fetchone() or (0, 0)))


def _count_older(conn: Conn, plan: LoadPlan, key: UniqueKey, source: sql.Composed, stay: int) -> int:
    """Return how many of the `stay` rows that were not written are older than the table's rows. Call it after the load,
    when all written rows are as new as the staged rows."""
    if plan.order_by is None or not stay:
        return 0
    query = sql.SQL("SELECT count(*) FROM {} AS s JOIN {} AS x ON {} WHERE {}").format(
        source, own_rows(plan), same_key(plan, key), is_newer(plan)
    )
    return min(one_number(conn, query), stay)


def _many_stay(conn: Conn, plan: LoadPlan, key: UniqueKey) -> bool:
    """Return whether, in a sample, the target has an equal or newer row for at least a quarter of the staged rows.

    Then a join (one read of the target) costs less than ON CONFLICT, which locks each such row. If most rows are new or
    changed, the join would be useless.
    """
    percent = min(100.0, 100.0 * SAMPLE_ROWS / max(plan.staged, 1))
    sample = sql.SQL("(SELECT w.* FROM {} AS w TABLESAMPLE SYSTEM ({}) WHERE {} LIMIT {})").format(
        plan.tables.good_identifier,
        sql.Literal(percent),
        is_winner(plan.winners, "w"),
        sql.Literal(SAMPLE_ROWS),
    )
    query = sql.SQL(
        "SELECT 4 * count(*) FILTER (WHERE x.tableoid IS NOT NULL AND NOT ({})) >= count(*)"
        " FROM {} AS s LEFT JOIN {} AS x ON {}"
    ).format(
        _replaces_row(plan, key),
        sample,
        own_rows(plan),
        same_key(plan, key),
    )
    row = conn.execute(query).fetchone()
    return bool(row and row[0])


def _rows_to_write(plan: LoadPlan, key: UniqueKey, source: sql.Composed) -> sql.Composed:
    """Return the rows of `source` for which the target has neither an equal nor a newer row."""
    return sql.SQL("(SELECT s.* FROM {} AS s LEFT JOIN {} AS x ON {} WHERE x.tableoid IS NULL OR {})").format(
        source,
        own_rows(plan),
        same_key(plan, key),
        _replaces_row(plan, key),
    )


def _replaces_row(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    """Return a condition: the staged row `s` replaces the row `x` of the table."""
    differ = _differs_from_staged(plan, key)
    return differ if plan.order_by is None else sql.SQL("{} AND NOT {}").format(differ, is_newer(plan))


def _statement(conn: Conn, plan: LoadPlan, key: UniqueKey, source: sql.Composed) -> sql.Composed:
    """Return a statement whose result is the numbers of inserted and updated rows."""
    return sql.SQL(
        "WITH written AS ({} {}) SELECT count(*) FILTER (WHERE is_new), count(*) FILTER (WHERE NOT is_new) FROM written"
    ).format(_insert(plan, key, source), _returning_is_new(conn, plan, key))


def _insert(plan: LoadPlan, key: UniqueKey, source: sql.Composable) -> sql.Composed:
    """Return INSERT … ON CONFLICT DO UPDATE."""
    updates = [*(c.name for c in value_columns(plan, key)), *plan.filled]
    return sql.SQL(
        "INSERT INTO {target} AS t ({columns}) SELECT {values} FROM {source} AS s{files}"
        " ON CONFLICT ({key}) DO UPDATE SET {assignments} WHERE {differs}{is_no_older}"
    ).format(
        target=identifier_of(plan.target),
        columns=column_list(insert_columns(plan)),
        values=staged_values(plan),
        source=source,
        files=file_join(plan),
        key=column_list(plan.upsert_key),
        assignments=sql.SQL(", ").join(sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(n)) for n in updates),
        differs=differs(plan, key, "t", lambda c: sql.Identifier("excluded", c.name)),
        is_no_older=_is_no_older(plan),
    )


def insert_from(conn: Conn, plan: LoadPlan, source: sql.Composable) -> sql.Composed:
    return _insert(plan, find_unique_key(conn, plan.target, plan.upsert_key), source)


def _is_no_older(plan: LoadPlan) -> sql.Composed:
    """Return a condition on the locked row, which may be newer than the row that a previous join has seen."""
    if plan.order_by is None:
        return sql.Composed([])
    return sql.SQL(" AND NOT {}").format(is_newer_than(plan, "t", sql.Identifier("excluded", plan.order_by)))


def _differs_from_staged(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    return differs(plan, key, "x", lambda c: staged_value(plan, c))


def _returning_is_new(conn: Conn, plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    if conn.info.server_version >= _RETURNS_OLD:
        return sql.SQL("RETURNING WITH (OLD AS was) was.tableoid IS NULL AS is_new").format()
    if plan.dest.kind == "partitioned table":
        # Before PostgreSQL 18, these tables return no system columns. The sub-select sees the table before the
        # statement.
        same = (c.equals(sql.Identifier("was", c.name), sql.Identifier("t", c.name)) for c in key.columns)
        return sql.SQL("RETURNING NOT EXISTS (SELECT FROM {} AS was WHERE {}) AS is_new").format(
            identifier_of(plan.target), sql.SQL(" AND ").join(same)
        )
    # ON CONFLICT locks the old row before it updates it, and a row version keeps the lock of its own transaction as
    # xmax; an inserted row has none.
    return sql.SQL("RETURNING t.xmax = 0 AS is_new").format()


HANDLER = LoadHandler(
    "upsert",
    ("INSERT", "SELECT", "UPDATE"),
    merge,
    effect=_effect,
    insert=insert_from,
    inspect=refuse_any_rule,
    counts_staged=True,
)
