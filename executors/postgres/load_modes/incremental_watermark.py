"""incremental_watermark: the rows past the mark are added, and the mark moves with them.

What is behind the mark was set aside before, so that staging holds the rows to load and no others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from psycopg import sql

from executors.effects import Effect
from executors.errors import Transient
from executors.postgres import effects
from executors.postgres.ddl import Conn
from executors.postgres.load_modes.append import insert_from, insert_staged
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import LoadPlan, ModeCounts, winning_rows
from executors.postgres.rewrite_rules import refuse_replaced_inserts
from executors.postgres.ties import Ties, columns_now, has_stored_from, keep_ties, mark_value, ties_of
from executors.postgres.watermarks import note_change, write_mark
from executors.postgres.windows import Window, require_unmoved


def _add_past_mark(conn: Conn, plan: LoadPlan) -> ModeCounts:
    window = plan.window
    if window is None:
        raise Transient("target.vanished", f"{plan.target} was made while it was loaded.", node=plan.run.node)
    require_unmoved(conn, window)
    next_mark = _next_mark(conn, plan, window)
    mark = _move_mark(conn, plan, window, next_mark)
    return replace(insert_staged(conn, plan), mark=mark, ahead=next_mark.ahead)


class _NextMark(NamedTuple):
    """The new mark and its bound, whether that is above the old mark, and how many staged rows no mark may follow."""

    value: str | None
    bound: str | None
    is_past: bool
    ahead: int


def _move_mark(conn: Conn, plan: LoadPlan, window: Window, to: _NextMark) -> dict[str, str] | None:
    """To be done before the rows go in: what the table holds then is what was known. None while there is no mark."""
    new, bound = to.value, to.bound
    if new is None or bound is None:
        return None
    ties = ties_of(plan, window)
    if to.is_past and ties.mark is not None and not has_stored_from(conn, ties, bound):
        # No stored hash reaches the new bound, so those to come may be made of the columns that come now.
        ties = Ties(window, columns_now(plan), ties.mark, None)
    key, column = window.key, window.column
    mark = write_mark(conn, key, column, window.type, new, known_from=bound, hashed=ties.columns)
    keep_ties(conn, plan, ties, bound, mark)
    old = window.stored.value if window.stored else None
    if new != old:
        reason = "rows were loaded" if plan.staged else "the highest value of the table"
        note_change(conn, key, "run", column, old, new, reason=reason, run_id=plan.run.run_id)
    return {"column": column, "type": window.type.name, "value": new}


def _next_mark(conn: Conn, plan: LoadPlan, window: Window) -> _NextMark:
    """The highest of the mark, the staged rows and those read again, but none that is ahead of the database's clock: it
    would leave out every row that is still to come before it."""
    value = mark_value(conn, plan, window)
    row = conn.execute(
        sql.SQL(
            "SELECT m.new::text, ({bound})::text, coalesce({bound} > m.old, true), m.ahead FROM"
            " (SELECT greatest(h.highest, {old}, {again}, CASE WHEN h.ahead > 0 THEN {below_all} END) AS new,"
            " {old} AS old, h.ahead FROM"
            " (SELECT max({value}) FILTER (WHERE NOT {is_ahead}) AS highest,"
            " count(*) FILTER (WHERE {is_ahead}) AS ahead FROM {rows} AS s) AS h) AS m"
        ).format(
            bound=window.type.minus(sql.SQL("m.new"), window.lag),
            old=window.value(window.mark),
            again=window.value(plan.aside.highest),
            below_all=window.value(window.type.below_all),
            value=value,
            is_ahead=window.type.is_ahead(value),
            rows=winning_rows(plan),
        )
    ).fetchone()
    return _NextMark(*(row or (None, None, False, 0)))


def _count_past_mark(conn: Conn, plan: LoadPlan) -> Effect:
    """What was set aside is not staged any more."""
    before = effects.count_rows(conn, plan)
    ahead = _next_mark(conn, plan, plan.window).ahead if plan.window else 0
    return effects.effect_of(plan, before=before, inserted=plan.staged, behind_mark=plan.aside.rows, ahead=ahead)


HANDLER = LoadHandler(
    "incremental_watermark",
    ("INSERT", "SELECT"),
    _add_past_mark,
    effect=_count_past_mark,
    insert=insert_from,
    inspect=refuse_replaced_inserts,
)
