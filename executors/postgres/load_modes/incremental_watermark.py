"""incremental_watermark: adds the rows above the watermark and raises the watermark.

Rows below the watermark were removed from staging before, so staging contains only rows to load.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from psycopg import sql

from executors.effects import Effect
from executors.errors import Transient
from executors.load_record import WatermarkValue
from executors.postgres import effects
from executors.postgres.boundary_rows import (
    BoundaryRows,
    boundary_rows_of,
    columns_now,
    has_stored_from,
    save_boundary_rows,
    watermark_value,
)
from executors.postgres.ddl import Conn
from executors.postgres.evolution import evolve
from executors.postgres.incremental_range import IncrementalRange, require_unmoved
from executors.postgres.load_modes.append import insert_from, insert_staged
from executors.postgres.load_modes.base import LoadHandler
from executors.postgres.load_plan import LoadPlan, ModeCounts, winning_rows
from executors.postgres.rewrite_rules import refuse_replaced_inserts
from executors.postgres.watermarks import note_change, write_watermark


def _add_past_watermark(conn: Conn, plan: LoadPlan) -> ModeCounts:
    rows_range = plan.rows_range
    if rows_range is None:
        raise Transient("target.vanished", f"{plan.target} was created during the load.", node=plan.run.node)
    plan = evolve(conn, plan)
    require_unmoved(conn, rows_range)
    next_watermark = _next_watermark(conn, plan, rows_range)
    watermark = _move_watermark(conn, plan, rows_range, next_watermark)
    return replace(insert_staged(conn, plan), watermark=watermark, ahead=next_watermark.ahead)


class _NextWatermark(NamedTuple):
    """The new watermark and its bound, whether the bound is above the old watermark, and the number of staged rows that
    the watermark does not follow."""

    value: str | None
    bound: str | None
    is_past: bool
    ahead: int


def _move_watermark(
    conn: Conn, plan: LoadPlan, rows_range: IncrementalRange, to: _NextWatermark
) -> WatermarkValue | None:
    """Raise the watermark. This must happen before the rows are inserted, because the rows in the table count as known.
    Return None while there is no watermark."""
    new, bound = to.value, to.bound
    if new is None or bound is None:
        return None
    boundary_rows = boundary_rows_of(plan, rows_range)
    if to.is_past and boundary_rows.watermark is not None and not has_stored_from(conn, boundary_rows, bound):
        # No stored hash reaches the new bound, so new hashes may use the columns that arrive now.
        boundary_rows = BoundaryRows(rows_range, columns_now(plan), boundary_rows.watermark, None)
    key, column = rows_range.key, rows_range.column
    watermark = write_watermark(conn, key, column, rows_range.type, new, known_from=bound, hashed=boundary_rows.columns)
    save_boundary_rows(conn, plan, boundary_rows, bound, watermark)
    old = rows_range.stored.value if rows_range.stored else None
    if new != old:
        reason = "rows were loaded" if plan.staged else "the highest value of the table"
        note_change(conn, key, "run", column, old, new, reason=reason, run_id=plan.run.run_id)
    return WatermarkValue(column, rows_range.type.name, new)


def _next_watermark(conn: Conn, plan: LoadPlan, rows_range: IncrementalRange) -> _NextWatermark:
    """Return the highest value of the watermark, the staged rows and the rows read again. Values later than the
    database's clock are ignored: such a watermark would exclude all rows that arrive before that time."""
    value = watermark_value(conn, plan, rows_range)
    row = conn.execute(
        sql.SQL(
            "SELECT m.new::text, ({bound})::text, coalesce({bound} > m.old, true), m.ahead FROM"
            " (SELECT greatest(h.highest, {old}, {again}, CASE WHEN h.ahead > 0 THEN {below_all} END) AS new,"
            " {old} AS old, h.ahead FROM"
            " (SELECT max({value}) FILTER (WHERE NOT {is_ahead}) AS highest,"
            " count(*) FILTER (WHERE {is_ahead}) AS ahead FROM {rows} AS s) AS h) AS m"
        ).format(
            bound=rows_range.type.minus(sql.SQL("m.new"), rows_range.lag),
            old=rows_range.value(rows_range.watermark),
            again=rows_range.value(plan.skipped.highest),
            below_all=rows_range.value(rows_range.type.below_all),
            value=value,
            is_ahead=rows_range.type.is_ahead(value),
            rows=winning_rows(plan),
        )
    ).fetchone()
    return _NextWatermark(*(row or (None, None, False, 0)))


def _count_past_watermark(conn: Conn, plan: LoadPlan) -> Effect:
    """Return the effect of the load. Skipped rows are no longer in staging."""
    before = effects.count_rows(conn, plan)
    ahead = _next_watermark(conn, plan, plan.rows_range).ahead if plan.rows_range else 0
    return effects.effect_of(plan, before=before, inserted=plan.staged, below_watermark=plan.skipped.rows, ahead=ahead)


HANDLER = LoadHandler(
    "incremental_watermark",
    ("INSERT", "SELECT"),
    _add_past_watermark,
    effect=_count_past_watermark,
    insert=insert_from,
    inspect=refuse_replaced_inserts,
)
