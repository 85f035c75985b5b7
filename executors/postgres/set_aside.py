"""Staged rows that an incremental load leaves out: those below the bound, and those that were loaded before."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.client import translate
from executors.postgres.ddl import Conn
from executors.postgres.load_plan import LoadPlan
from executors.postgres.staging import FILE, RECORD, is_winner
from executors.postgres.ties import (
    Reach,
    Ties,
    find_reach,
    known_rows,
    mark_value,
    require_few_in_table,
    staged_hash,
    ties_of,
)
from executors.postgres.windows import NOTHING_ASIDE, Aside, Window


@translate()
def set_aside(conn: Conn, plan: LoadPlan, window: Window) -> Aside:
    """Take the rows that are behind the mark out of staging, before checks and refusals, so that these look at what
    will be loaded. Raises Terminal `watermark.too_many_ties`."""
    if window.bound is None:
        return NOTHING_ASIDE
    with conn.transaction():
        below = conn.execute(_delete_below(conn, plan, window, window.bound)).rowcount
        again, highest = _take_out_known(conn, plan, window, window.bound)
    return Aside(below, again, highest)


def _delete_below(conn: Conn, plan: LoadPlan, window: Window, bound: str) -> sql.Composed:
    return sql.SQL("DELETE FROM {} AS s WHERE {} AND {} < {}").format(
        plan.tables.good_identifier,
        is_winner(plan.winners, "s"),
        mark_value(conn, plan, window),
        window.value(bound),
    )


def _take_out_known(conn: Conn, plan: LoadPlan, window: Window, bound: str) -> tuple[int, str | None]:
    ties = ties_of(plan, window)
    reach = find_reach(conn, plan, ties)
    if reach is None:
        return 0, None
    require_few_in_table(conn, plan, ties, bound)
    row = conn.execute(_delete_known(conn, plan, ties, bound, reach)).fetchone()
    return row or (0, None)


def _delete_known(conn: Conn, plan: LoadPlan, ties: Ties, bound: str, reach: Reach) -> sql.Composed:
    """Of the staged rows with one content as many as are known go, the first in source order. Where no known row can
    stand they need no hash. What is beyond the reach of marks does not move them, read again or not."""
    value = mark_value(conn, plan, ties.window)
    return sql.SQL(
        "WITH gone AS (DELETE FROM {staged} AS d USING ("
        " SELECT c.part, c.at, c.value FROM ("
        "  SELECT h.*, row_number() OVER (PARTITION BY h.hash ORDER BY h.file, h.record) AS place FROM ("
        "   SELECT s.tableoid AS part, s.ctid AS at, s.{file} AS file, s.{record} AS record, {value} AS value,"
        "   {hash} AS hash"
        "   FROM {staged} AS s WHERE {winner} AND {value} >= {bound} AND {in_reach}) AS h) AS c"
        " JOIN {known} AS k ON k.hash = c.hash AND c.place <= k.n) AS again"
        " WHERE d.tableoid = again.part AND d.ctid = again.at"
        " RETURNING again.value) SELECT count(*), (max(value) FILTER (WHERE NOT {is_ahead}))::text FROM gone"
    ).format(
        staged=plan.tables.good_identifier,
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        hash=staged_hash(conn, plan, ties.columns),
        winner=is_winner(plan.winners, "s"),
        value=value,
        bound=ties.window.value(bound),
        in_reach=reach.holds(ties.window, value),
        is_ahead=ties.window.type.is_ahead(sql.Identifier("value")),
        known=known_rows(plan, ties, bound),
    )
