"""Counts what a load would change in a Delta table, without writing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from psycopg import sql

from executors.delta.engine import Engine, open_engine
from executors.delta.failures import translate
from executors.delta.folders import TableFolder
from executors.delta.matching import CHANGED, NEWER, count_matched, match, old_name
from executors.delta.newest import count_newest, read_each, read_newest, same_key, values_of
from executors.delta.plan import DeltaPlan
from executors.delta.rows import table_files
from executors.effects import MOST_SAMPLES, Effect, KeyMatch, Sample
from executors.rejected_rows import RowPosition
from executors.stage_plan import FILE, RECORD
from ir.load_modes import load_mode

LONGEST_VALUE = 200
"""The maximum number of characters of a value in a sample."""
MOST_CONFLICTS = 500


def count_effect(plan: DeltaPlan, table: DeltaTable | None) -> Effect:
    """Return what the load would change. Raises Transient `staging.lost`, and the failures of the load mode."""
    before = _count_rows(table, plan.log.folder) if table is not None else 0
    mode = load_mode(plan.load_mode)
    if mode.needs_key:
        return _count_merge(plan, table, before)
    deleted = before if mode.replaces_all_rows else 0
    return _effect_of(plan, table, before, inserted=plan.staged, deleted=deleted)


def find_conflicts(plan: DeltaPlan, table: DeltaTable | None) -> Mapping[RowPosition, Mapping[str, Any]]:
    """Return for the first staged rows whose key exists in the table with other values: the key, and the existing and
    the new value of each column that differs."""
    with open_engine(plan) as engine:
        read_each(engine, plan)
        match(engine, plan, table_files(table, plan.log.folder), staged="staged", with_values=True)
        rows = _differences(engine, plan, sql.SQL("_flow_differs"), MOST_CONFLICTS, staged="staged")
    return {at: {"key": key, "changes": changes} for at, key, changes in rows}


def _count_merge(plan: DeltaPlan, table: DeltaTable | None, before: int) -> Effect:
    with open_engine(plan) as engine:
        read_newest(engine, plan)
        match(engine, plan, table_files(table, plan.log.folder), with_values=True)
        newest, matched = count_newest(engine), count_matched(engine, "true")
        changed, older = count_matched(engine, CHANGED), count_matched(engine, NEWER)
        rows = _differences(engine, plan, sql.SQL(CHANGED), MOST_SAMPLES)
        keys = KeyMatch(
            tuple(plan.key),
            new=newest - matched,
            changed=changed,
            same=matched - changed - older,
            gone=before - matched,
            columns=_count_columns(engine, plan),
            samples=tuple(Sample(key, changes) for _, key, changes in rows),
            older=older,
        )
    replaced = plan.staged - newest
    counts = {"updated": changed, "unchanged": keys.same, "replaced": replaced, "older": older, "keys": keys}
    return _effect_of(plan, table, before, inserted=keys.new, **counts)


def _effect_of(plan: DeltaPlan, table: DeltaTable | None, before: int, *, inserted: int, **counts: Any) -> Effect:
    return Effect(plan.run.node, plan.log.folder.name, plan.load_mode, table is None, before, inserted, **counts)


def _differences(
    engine: Engine, plan: DeltaPlan, condition: sql.Composable, most: int, *, staged: str = "newest"
) -> list[tuple[RowPosition, dict[str, str | None], dict[str, list[str | None]]]]:
    """Return positions, keys, and the old and new values that differ, of the first rows by position."""
    columns = _compared_columns(plan)
    shown = [_text("s", name) for name in plan.key]
    for name in columns:
        shown += [_differs_in(name), _text("m", old_name(name)), _text("s", name)]
    query = sql.SQL(
        "SELECT m.{file}, m.{record}, {shown} FROM matched AS m JOIN {staged} AS s ON {same}"
        " AND (m.{file}, m.{record}) = (s.{file}, s.{record}) WHERE {condition} ORDER BY 1, 2 LIMIT {most}"
    ).format(
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        shown=sql.SQL(", ").join(shown),
        staged=sql.Identifier(staged),
        same=same_key(plan, "m", "s"),
        condition=condition,
        most=sql.Literal(most),
    )
    found = []
    for file, record, *values in engine.rows(query):
        key, rest = dict(zip(plan.key, values, strict=False)), values[len(plan.key) :]
        changes = {name: rest[3 * i + 1 : 3 * i + 3] for i, name in enumerate(columns) if rest[3 * i]}
        found.append(((file, record), key, changes))
    return found


def _count_columns(engine: Engine, plan: DeltaPlan) -> Mapping[str, int]:
    """Return how many values change, by column."""
    columns = _compared_columns(plan)
    counts = [sql.SQL("count(*) FILTER (WHERE {})").format(_differs_in(name)) for name in columns]
    if not counts:
        return {}
    query = sql.SQL("SELECT {} FROM matched AS m JOIN newest AS s ON {} WHERE {}").format(
        sql.SQL(", ").join(counts), same_key(plan, "m", "s"), sql.SQL(CHANGED)
    )
    return {name: count for name, count in zip(columns, engine.rows(query)[0], strict=True) if count}


def _compared_columns(plan: DeltaPlan) -> Sequence[str]:
    return [name for name in values_of(plan) if name not in plan.key]


def _differs_in(name: str) -> sql.Composable:
    return sql.SQL("m.{} IS DISTINCT FROM s.{}").format(sql.Identifier(old_name(name)), sql.Identifier(name))


def _text(row: str, name: str) -> sql.Composable:
    return sql.SQL("left(CAST({} AS VARCHAR), {})").format(sql.Identifier(row, name), sql.Literal(LONGEST_VALUE))


def _count_rows(table: DeltaTable, folder: TableFolder) -> int:
    """Return the number of rows of a table. Files of other writers may have no statistics, but their own footers."""
    with translate(folder.name):
        actions = pa.table(table.get_add_actions(flatten=True))
        known = zip(actions.column("path").to_pylist(), actions.column("num_records").to_pylist(), strict=True)
        return sum(rows if rows is not None else _rows_of(folder, path) for path, rows in known)


def _rows_of(folder: TableFolder, path: str) -> int:
    with folder.files.open_input_file(path) as stream:
        return int(pq.read_metadata(stream).num_rows)
