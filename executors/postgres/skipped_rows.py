"""Staged rows that an incremental load skips: those below the bound, and those that were loaded before."""

from __future__ import annotations

from dataclasses import replace

from psycopg import sql

from executors.load_record import NONE_SKIPPED, SkippedRows
from executors.postgres.boundary_rows import (
    BoundaryRows,
    Reach,
    boundary_rows_of,
    find_reach,
    known_rows,
    require_few_in_table,
    staged_hash,
    watermark_value,
)
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.effects import identifying_key
from executors.postgres.incremental_range import IncrementalRange
from executors.postgres.key_match import differs, key_values, own_rows, same_key, stored_value
from executors.postgres.load_plan import LoadPlan, column_list, winning_rows
from executors.postgres.staging import KNOWN_TASK, is_winner, one_number
from executors.postgres.unique_keys import UniqueKey
from executors.stage_plan import FILE, RECORD, TASK


@translate()
def skip_rows(conn: Conn, plan: LoadPlan, rows_range: IncrementalRange) -> SkippedRows:
    """Remove the rows below the watermark from staging, before checks and refusals, so that these apply only to rows to
    load. Raises Terminal `watermark.too_many_ties`."""
    if rows_range.bound is None:
        return NONE_SKIPPED
    with brief_transaction(conn):
        below = conn.execute(_delete_below(conn, plan, rows_range, rows_range.bound)).rowcount
        boundary_rows = boundary_rows_of(plan, rows_range)
        key = identifying_key(conn, plan) if boundary_rows.asks_table else None
        if key is None:
            skipped = _take_out_known(conn, plan, boundary_rows, rows_range.bound)
        else:
            skipped = _take_out_known_keys(conn, plan, boundary_rows, rows_range.bound, key)
            if boundary_rows.watermark is not None:
                # None of the other rows is in the part of the table that has no hashes.
                stored = _take_out_known(conn, plan, replace(boundary_rows, stored_from=None), rows_range.bound)
                skipped = _sum(conn, rows_range, skipped, stored)
    return replace(skipped, below_bound=below)


def _sum(conn: Conn, rows_range: IncrementalRange, one: SkippedRows, other: SkippedRows) -> SkippedRows:
    """Add the counts of two kinds of rows that are read again."""
    query = sql.SQL("SELECT greatest({}, {})::text").format(
        rows_range.value(one.highest), rows_range.value(other.highest)
    )
    row = conn.execute(query).fetchone()
    return replace(one, read_again=one.read_again + other.read_again, highest=row[0] if row else None)


def _delete_below(conn: Conn, plan: LoadPlan, rows_range: IncrementalRange, bound: str) -> sql.Composed:
    return sql.SQL("DELETE FROM {} AS s WHERE {} AND {} < {}").format(
        plan.tables.good_identifier,
        is_winner(plan.winners, "s"),
        watermark_value(conn, plan, rows_range),
        rows_range.value(bound),
    )


def _take_out_known(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str) -> SkippedRows:
    """Remove known rows by their content."""
    reach = find_reach(conn, plan, boundary_rows)
    if reach is None:
        return NONE_SKIPPED
    require_few_in_table(conn, plan, boundary_rows, bound)
    again, highest = conn.execute(_delete_known(conn, plan, boundary_rows, bound, reach)).fetchone() or (0, None)
    skipped = SkippedRows(read_again=again, highest=highest)
    if boundary_rows.asks_table and plan.dest.row_triggers:
        skipped = replace(skipped, doubtful=_count_doubtful(conn, plan, boundary_rows, reach))
    return skipped


def _count_doubtful(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, reach: Reach) -> int:
    """Count the remaining rows in a range where the table has rows too, because a trigger may have changed the table's
    rows."""
    value = watermark_value(conn, plan, boundary_rows.rows_range)
    return one_number(
        conn,
        sql.SQL("SELECT count(*) FROM {} AS s WHERE {}").format(
            winning_rows(plan), reach.holds(boundary_rows.rows_range, value)
        ),
    )


def _take_out_known_keys(
    conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, key: UniqueKey
) -> SkippedRows:
    """Remove known rows by their key, where known rows come from the table: a trigger may have changed the table's
    values. A row that is newer than the table's row with its key is a different row, which the table will refuse."""
    query = _keep_known_keys(conn, plan, boundary_rows, bound, key)
    again, highest, differing = conn.execute(query).fetchone() or (0, None, 0)
    return SkippedRows(read_again=again, highest=highest, differing=differing)


def _keep_known_keys(
    conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, key: UniqueKey
) -> sql.Composed:
    """Return a statement that moves the first staged row of each known key to `KNOWN_TASK`, so that no load includes
    it, but its hash can still be stored."""
    rows_range, columns = boundary_rows.rows_range, [FILE, RECORD, *(c.name for c in plan.columns)]
    value = watermark_value(conn, plan, rows_range)
    counts_by_table = (
        sql.SQL("{} < {}").format(value, rows_range.value(boundary_rows.stored_from))
        if boundary_rows.watermark
        else sql.SQL("true")
    )
    return sql.SQL(
        "WITH known AS ("
        " SELECT s.tableoid AS part, s.ctid AS at, {value} AS value, {differs} AS differs,"
        "  row_number() OVER (PARTITION BY {keys} ORDER BY s.{file}, s.{record}) AS place"
        "  FROM {staged} AS s JOIN {table} AS x ON {same_key}"
        "  WHERE {winner} AND {value} >= {bound} AND {counts_by_table} AND {there} >= {value}),"
        " gone AS (DELETE FROM {staged} AS d USING known AS k"
        "  WHERE k.place = 1 AND d.tableoid = k.part AND d.ctid = k.at RETURNING d.*),"
        " kept AS (INSERT INTO {staged} ({task}, {columns}) SELECT {known_task}, {columns} FROM gone)"
        " SELECT count(*), (max(value) FILTER (WHERE NOT {is_ahead}))::text, count(*) FILTER (WHERE differs)"
        " FROM known WHERE place = 1"
    ).format(
        value=value,
        differs=differs(plan, key, "x", lambda column: stored_value(plan, column)),
        keys=key_values(plan, key),
        file=sql.Identifier(FILE),
        record=sql.Identifier(RECORD),
        staged=plan.tables.good_identifier,
        table=own_rows(plan),
        same_key=same_key(plan, key),
        winner=is_winner(plan.winners, "s"),
        bound=rows_range.value(bound),
        counts_by_table=counts_by_table,
        there=rows_range.type.of(sql.Identifier("x", rows_range.column)),
        task=sql.Identifier(TASK),
        columns=column_list(columns),
        known_task=sql.Literal(KNOWN_TASK),
        is_ahead=rows_range.type.is_ahead(sql.Identifier("value")),
    )


def _delete_known(conn: Conn, plan: LoadPlan, boundary_rows: BoundaryRows, bound: str, reach: Reach) -> sql.Composed:
    """Return a statement that deletes, of the staged rows with the same content, as many as are known, the first in
    source order. Rows in a range without known rows need no hash. Rows that the watermark does not follow do not move
    it, even if they are read again."""
    value = watermark_value(conn, plan, boundary_rows.rows_range)
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
        hash=staged_hash(conn, plan, boundary_rows.columns),
        winner=is_winner(plan.winners, "s"),
        value=value,
        bound=boundary_rows.rows_range.value(bound),
        in_reach=reach.holds(boundary_rows.rows_range, value),
        is_ahead=boundary_rows.rows_range.type.is_ahead(sql.Identifier("value")),
        known=known_rows(plan, boundary_rows, bound),
    )
