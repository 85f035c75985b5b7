"""Uniqueness of staged rows: plain unique keys are checked by query, all other unique indexes and exclusion constraints
with a twin of the table."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.ddl import Conn
from executors.postgres.exclusive import Exclusive, fill_twin, is_not_in_twin, list_exclusive, make_twin
from executors.postgres.generated import generated_values
from executors.postgres.load_plan import LoadPlan, staged_value
from executors.postgres.names import own_rows_of
from executors.postgres.refusals import Refusal
from executors.postgres.staging import is_winner
from executors.postgres.unique_keys import UniqueKey, list_unique_keys
from executors.stage_plan import FILE, RECORD
from ir.load_modes import load_mode


def list_repeats(conn: Conn, plan: LoadPlan) -> list[Refusal]:
    """Return a refusal for each key or constraint. It refuses a staged row that conflicts with a row before it in
    source order or, unless all rows of the target are replaced, with a row of the target. For upsert there are none:
    PostgreSQL decides whether another row may have the key. May create temporary tables, which are dropped at the end
    of the transaction."""
    if plan.upsert_key:
        return []
    given = {c.name for c in plan.columns}
    keys = [k for k in list_unique_keys(conn, plan.target) if {c.name for c in k.columns} <= given]
    return [*(_repeat(plan, key) for key in keys), *_others(conn, plan, {key.index for key in keys})]


def _others(conn: Conn, plan: LoadPlan, plain: set[str]) -> list[Refusal]:
    values: dict[str, sql.Composed] = {
        c.name: sql.SQL("{}::{}").format(staged_value(plan, c), sql.SQL(plan.destination_column(c.name).declared))
        for c in plan.columns
    }
    values |= generated_values(conn, plan.target, values)
    found = [
        one
        for one in list_exclusive(conn, plan.target)
        if one.name not in plain and values.keys() >= set(one.columns) and not one.reads_whole_rows
    ]
    for one in found:
        make_twin(conn, plan, one)
    return [_other(plan, one, values) for one in found]


def _other(plan: LoadPlan, one: Exclusive, values: dict[str, sql.Composed]) -> Refusal:
    kind = "exclusion" if one.is_exclusion else "unique"
    message = f"violates the exclusion constraint {one.name!r}" if one.is_exclusion else _repeats(one.name)
    field = one.columns[0] if len(one.columns) == 1 else None
    prepare = fill_twin(plan, one, values, all_go=load_mode(plan.load_mode).replaces_all_rows)
    return Refusal(kind, one.name, field, message, is_not_in_twin(one), prepare=prepare)


def _repeats(index: str) -> str:
    return f"repeats a key of the unique index {index!r}"


def _repeat(plan: LoadPlan, key: UniqueKey) -> Refusal:
    conditions = [_repeats_staged(plan, key)]
    if not load_mode(plan.load_mode).replaces_all_rows:
        conditions.append(_repeats_target(plan, key))
    field = key.columns[0].name if len(key.columns) == 1 else None
    condition = sql.SQL("({})").format(sql.SQL(" OR ").join(conditions))
    return Refusal("unique", key.index, field, _repeats(key.index), condition)


def _repeats_staged(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    values = [staged_value(plan, plan.stage_column(c.name), "w") for c in key.columns]
    given = sql.SQL(" AND ").join(sql.SQL("{} IS NOT NULL").format(v) for v in values)
    collated = sql.SQL(", ").join(c.collated(v) for c, v in zip(key.columns, values, strict=True))
    return sql.SQL(
        "(s.tableoid, s.ctid) IN (SELECT q.tableoid, q.ctid FROM (SELECT w.tableoid, w.ctid,"
        " row_number() OVER (PARTITION BY {keys} ORDER BY w.{file}, w.{record}) AS n"
        " FROM {rows} AS w WHERE {winner} AND {given}) AS q WHERE q.n > 1)"
    ).format(
        keys=collated,
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        rows=plan.tables.good_identifier,
        winner=is_winner(plan.winners, "w"),
        given=given if not key.nulls_not_distinct else sql.SQL("true"),
    )


def _repeats_target(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    same = sql.SQL(" AND ").join(
        column.equals(sql.Identifier("x", column.name), staged_value(plan, plan.stage_column(column.name)))
        for column in key.columns
    )
    return sql.SQL("EXISTS (SELECT FROM {} AS x WHERE {})").format(own_rows_of(plan.target, plan.dest.kind), same)
