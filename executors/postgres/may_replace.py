"""Loads that may replace only the table rows with the keys of certain staged rows, and no newer rows. Those table rows
are locked, and no other row is updated."""

from __future__ import annotations

from collections.abc import Collection

from psycopg import sql

from executors.errors import Transient
from executors.postgres.ddl import Conn
from executors.postgres.key_match import differs, is_newer, own_rows, same_key
from executors.postgres.load_plan import LoadPlan, staged_value, winning_rows
from executors.postgres.staging import one_number
from executors.postgres.unique_keys import UniqueKey
from executors.rejected_rows import RowPosition
from executors.stage_plan import FILE, RECORD


def is_in(positions: Collection[RowPosition]) -> sql.Composed:
    """Return a condition: the staged row `s` is at one of these positions."""
    return sql.SQL(
        "(s.{}, s.{}) IN (SELECT f, r FROM ROWS FROM (unnest({}::int[]), unnest({}::bigint[])) AS a(f, r))"
    ).format(
        sql.Identifier(FILE),
        sql.Identifier(RECORD),
        sql.Literal([file for file, _ in positions]),
        sql.Literal([record for _, record in positions]),
    )


def may_replace_row(plan: LoadPlan, positions: Collection[RowPosition]) -> sql.Composed:
    """Return a condition: the staged row `s` is at one of these positions, and the row `x` of the table is not
    newer."""
    return sql.SQL("({} AND NOT {})").format(is_in(positions), is_newer(plan))


def hold_replaced(conn: Conn, plan: LoadPlan, key: UniqueKey) -> int | None:
    """Lock the rows of the table that the load may replace, so that no other session changes them. Return their number,
    or None if the load may replace any row. Raises Transient `replay.keys_appeared`."""
    if plan.may_replace is None:
        return None
    allowed = may_replace_row(plan, plan.may_replace)
    if one_number(conn, sql.SQL("SELECT count(*) FROM ({} AND NOT {}) AS c").format(_conflicts(plan, key), allowed)):
        raise _appeared(plan)
    held = sql.SQL("WITH held AS ({} AND {} FOR NO KEY UPDATE OF x) SELECT count(DISTINCT (t, c)) FROM held")
    return one_number(conn, held.format(_conflicts(plan, key), allowed))


def require_no_others(plan: LoadPlan, held: int | None, updated: int) -> None:
    """Raise Transient `replay.keys_appeared` if more rows were updated than `hold_replaced` has locked."""
    if held is not None and updated > held:
        raise _appeared(plan)


def _conflicts(plan: LoadPlan, key: UniqueKey) -> sql.Composed:
    return sql.SQL("SELECT x.tableoid AS t, x.ctid AS c FROM {} AS s JOIN {} AS x ON {} WHERE {}").format(
        winning_rows(plan),
        own_rows(plan),
        same_key(plan, key),
        differs(plan, key, "x", lambda c: staged_value(plan, c)),
    )


def _appeared(plan: LoadPlan) -> Transient:
    return Transient(
        "replay.keys_appeared",
        "The table now has rows with some of these keys.",
        node=plan.run.node,
        hint="The target was not loaded. Replay the rows again.",
    )
