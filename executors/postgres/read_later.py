"""Rejected rows that a later run of an incremental target has read again and not rejected: either it has loaded them,
or their source has replaced them. They must not be loaded from quarantine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from psycopg import sql

from executors.postgres.boundary_rows import watermark_value
from executors.postgres.ddl import Conn
from executors.postgres.incremental_range import IncrementalRange
from executors.postgres.load_plan import LoadPlan
from executors.postgres.quarantined import Owner
from executors.postgres.refusals import Refusal
from executors.postgres.repeated_rejects import contents_of, runs_with
from executors.rejected_rows import RejectedRow, RowPosition
from executors.stage_plan import FILE, RECORD
from executors.table_name import TableName

READ = "read_again:mark"
"""The rule of such a row."""


@dataclass(frozen=True, slots=True)
class Load:
    """A run that has read the source from `bound` on, or from its beginning if that is None."""

    run_id: str
    bound: str | None


def bounds_by_position(
    conn: Conn,
    owner: Owner,
    node: str,
    rows_range: IncrementalRange,
    rows: Mapping[TableName, Mapping[RowPosition, RejectedRow]],
    tables: Iterable[TableName],
) -> dict[RowPosition, str | None]:
    """Return for each row that some later run did not reject the lowest bound from which such a run has read.

    `tables` are those that may contain rows rejected by later runs.
    """
    loads = _loads(conn, owner, node, rows_range)
    order = {load.run_id: position for position, load in enumerate(loads)}
    ranks = {bound: rank for rank, bound in enumerate(_sorted(conn, rows_range, loads))}
    found: dict[RowPosition, str | None] = {}
    for position, runs in _runs_by_position(conn, owner, node, rows, tables).items():
        first = min((order[run] for run in runs if run in order), default=len(loads))
        others = {load.bound for load in loads[first + 1 :] if load.run_id not in runs}
        if others:
            found[position] = None if None in others else min(others, key=lambda bound: ranks[str(bound)])
    return found


def read_later(
    conn: Conn, plan: LoadPlan, rows_range: IncrementalRange, bounds: Mapping[RowPosition, str | None]
) -> Refusal:
    """Return the refusal of staged rows at or above the bound of their position."""
    positions, texts = list(bounds), list(bounds.values())
    condition = sql.SQL(
        "EXISTS (SELECT FROM ROWS FROM (unnest({}::int[]), unnest({}::bigint[]), unnest({}::text[])) AS a(f, r, b)"
        " WHERE a.f = s.{} AND a.r = s.{} AND (a.b IS NULL OR {} >= {}))"
    ).format(
        sql.Literal([file for file, _ in positions]),
        sql.Literal([record for _, record in positions]),
        sql.Literal(texts),
        sql.Identifier(FILE),
        sql.Identifier(RECORD),
        watermark_value(conn, plan, rows_range),
        rows_range.type.of(sql.Identifier("a", "b")),
    )
    kind, _, name = READ.partition(":")
    return Refusal(kind, name, rows_range.column, "was read again by a later run and not rejected", condition)


def _loads(conn: Conn, owner: Owner, node: str, rows_range: IncrementalRange) -> list[Load]:
    """Return the loads of the target that count, in order. The bound is None if its column or type was different."""
    query = sql.SQL(
        "SELECT l.run_id, CASE WHEN l.of = {of} THEN l.read_from END FROM ("
        "SELECT c.run_id, c.token, c.read_from,"
        " lag(ARRAY[c.watermark_column, c.watermark_type]) OVER loads AS of"
        " FROM flow_meta.load_commits AS c WHERE c.tenant = {tenant} AND c.pipeline = {pipeline} AND c.node = {node}"
        " AND c.undone_by IS NULL AND c.kind = 'load'"
        " WINDOW loads AS (ORDER BY c.token)) AS l ORDER BY l.token"
    ).format(
        of=sql.Literal([rows_range.column, rows_range.type.name]),
        tenant=sql.Literal(owner.tenant),
        pipeline=sql.Literal(owner.pipeline),
        node=sql.Literal(node),
    )
    return [Load(*row) for row in conn.execute(query).fetchall()]


def _sorted(conn: Conn, rows_range: IncrementalRange, loads: Collection[Load]) -> list[str]:
    """Return the bounds of these loads, the lowest first."""
    bounds = sorted({load.bound for load in loads if load.bound is not None})
    query = sql.SQL("SELECT a.b FROM unnest({}::text[]) AS a(b) ORDER BY {}").format(
        sql.Literal(bounds), rows_range.type.of(sql.Identifier("a", "b"))
    )
    return [bound for (bound,) in conn.execute(query).fetchall()]


def _runs_by_position(
    conn: Conn,
    owner: Owner,
    node: str,
    rows: Mapping[TableName, Mapping[RowPosition, RejectedRow]],
    tables: Iterable[TableName],
) -> dict[RowPosition, set[str]]:
    """Return the runs that have rejected an equal row, by position."""
    contents: dict[RowPosition, str] = {}
    runs: dict[str, set[str]] = defaultdict(set)
    for table, here in rows.items():
        found = contents_of(conn, table, [row.id for row in here.values()])
        for position, row in here.items():
            contents[position] = found.get(row.id, row.name)
            runs[contents[position]].add(row.run_id)
    for table in tables:
        for content, run in runs_with(conn, owner, node, table, list(runs)):
            runs[content].add(run)
    return {position: runs[content] for position, content in contents.items()}
