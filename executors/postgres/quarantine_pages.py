"""Pages of quarantine entries, found by index regardless of their number, and searched within limits."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import errors, sql
from psycopg.rows import dict_row

from executors.errors import Terminal
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, exists
from executors.postgres.names import identifier_of
from executors.postgres.quarantine_query import EntryQuery, PageQuery, Position
from executors.postgres.quarantined import Owner, Owners, is_owned
from executors.table_name import TableName

EVERY = (
    "id",
    "pipelineId",
    "runId",
    "nodeId",
    "ruleId",
    "field",
    "message",
    "severity",
    "disposition",
    "status",
    "sourceFile",
    "sourceRecord",
    "sourceNode",
    "rowId",
    "rowFrom",
    "row",
    "createdAt",
    "targetNode",
    "attempt",
    "fixedRow",
    "fixedBy",
    "revision",
    "decidedBy",
    "decidedAt",
    "reason",
    "replayRun",
    "replayResult",
    "replayRules",
    "supersededBy",
)
"""The columns of an entry: one violated rule of one row."""

WITHOUT_VALUES = tuple(name for name in EVERY if name not in ("row", "fixedRow"))

SLICE = 100_000
"""The maximum number of entries that one search examines."""
AT_ONCE = 5000
"""The number of entries that are fetched or deleted at once."""
COUNTED_AT_ONCE = 100_000
"""The number of entries that are counted at once. An interrupted count reports the finished batches."""
SECONDS = 5
"""The time limit of a page, which is ample if the indexes exist."""
STALLED_SECONDS = 300
"""The time limit for a reader of all entries to process those fetched at once."""
EXPORT_SECONDS = 7200
"""The time limit for reading all entries of a table."""
COUNT_SECONDS = 20
"""The time limit for counting, which reads all counted entries while a user waits."""


@dataclass(frozen=True, slots=True)
class Page:
    """`reached` is the last entry examined, None if none follows."""

    entries: list[dict[str, Any]]
    reached: Position | None


@translate()
def read_page(
    conn: Conn,
    owners: Owners,
    table: TableName,
    entry_query: EntryQuery,
    after: Position | None,
    limit: int,
    columns: Sequence[str] = EVERY,
) -> Page:
    """Return up to `limit` entries that follow `after`, in the order of the query. Raises Terminal `errors.gave_up` at
    the time limit."""
    if not exists(conn, table.schema, table.table):
        return Page([], None)
    most = limit if entry_query.search is None else SLICE
    query = PageQuery(owners, table, entry_query, after, most)
    with in_time(conn, table, SECONDS):
        positions = [Position(*row) for row in conn.execute(query.positions()).fetchall()]
        end = positions[-1] if positions and len(positions) == most else None
        if entry_query.search is not None:
            positions = _search(conn, table, positions, entry_query.search, limit)
            end = positions[-1] if len(positions) == limit else end
        return Page(_entries(conn, table, [position.id for position in positions], columns), end)


@contextmanager
def in_time(conn: Conn, table: TableName, seconds: int) -> Iterator[None]:
    """Open a transaction that limits the time of each statement. Raises Terminal `errors.gave_up` at the limit."""
    try:
        with conn.transaction():
            conn.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds}s"])
            yield
    except errors.QueryCanceled as error:
        raise Terminal(
            "errors.gave_up",
            f"Looking through {table} took more than {seconds} seconds.",
            hint="Filter by run, rule, field or status.",
        ) from error


def read_all(conn: Conn, owners: Owners, table: TableName, entry_query: EntryQuery) -> Iterator[dict[str, Any]]:
    """Yield every entry, oldest first, with a server-side cursor, so that memory stays bounded.

    While the cursor is open, the whole database cannot remove dead rows. So the server ends the session of a reader
    that requests no more rows (Transient `target.lost`), and a reader that is too slow gets Terminal `errors.gave_up`.
    """
    if not exists(conn, table.schema, table.table):
        return
    query = sql.SQL("SELECT {} FROM {} AS q WHERE {} ORDER BY q.id").format(
        sql.SQL(", ").join(sql.Identifier("q", name) for name in EVERY),
        identifier_of(table),
        sql.SQL(" AND ").join(_conditions(owners, entry_query)),
    )
    until = time.monotonic() + EXPORT_SECONDS
    with translate(), conn.transaction(), conn.cursor("flow_export", row_factory=dict_row) as cursor:
        conn.execute("SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{STALLED_SECONDS}s"])
        cursor.execute(query)
        while rows := cursor.fetchmany(AT_ONCE):
            yield from rows
            if time.monotonic() > until:
                raise Terminal(
                    "errors.gave_up",
                    f"Sending the rejected rows of {table} took more than {EXPORT_SECONDS // 60} minutes; not all "
                    "of them have been sent.",
                    hint="Filter them by run, rule, field or status, or export closer to the database.",
                )


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of entries. If not `is_whole`, there may be more, because counting exceeded its time limit."""

    entries: int
    is_whole: bool


@translate()
def count_older(
    conn: Conn,
    owner: Owner,
    table: TableName,
    entry_query: EntryQuery,
    before: datetime,
    seconds: float = COUNT_SECONDS,
) -> Counted:
    """Count the entries older than `before`, for at most `seconds`."""
    if not exists(conn, table.schema, table.table):
        return Counted(0, is_whole=True)
    query = sql.SQL("DECLARE flow_count NO SCROLL CURSOR FOR SELECT FROM {} AS q WHERE {}").format(
        identifier_of(table), _older(owner, entry_query, before)
    )
    found, until = 0, time.monotonic() + seconds
    with suppress(errors.QueryCanceled), conn.transaction():
        # All rows are needed, so the planner must not optimize for the first ones.
        conn.execute("SELECT set_config('cursor_tuple_fraction', '1', true)")
        _stop_at(conn, until)
        conn.execute(query)
        while time.monotonic() < until:
            _stop_at(conn, until)
            # MOVE counts the rows without sending them.
            moved = conn.execute(sql.SQL("MOVE {} IN flow_count").format(sql.Literal(COUNTED_AT_ONCE))).rowcount
            found += moved
            if moved < COUNTED_AT_ONCE:
                return Counted(found, is_whole=True)
    return Counted(found, is_whole=False)


def _stop_at(conn: Conn, until: float) -> None:
    """Limit each statement of this transaction to the time left until `until`."""
    left = max(1, int(1000 * (until - time.monotonic())))
    conn.execute("SELECT set_config('statement_timeout', %s, true)", [f"{left}ms"])


@dataclass(frozen=True, slots=True)
class Swept:
    """The number of deleted entries, and the last id examined: None if all were examined."""

    gone: int
    reached: int | None


@translate()
def delete_older(
    conn: Conn,
    owner: Owner,
    table: TableName,
    entry_query: EntryQuery,
    before: datetime,
    *,
    after: int = -1,
    most: int | None = None,
    until: float | None = None,
) -> Swept:
    """Delete the entries older than `before` with an id above `after`, in small batches so that other sessions do not
    wait long, until about `most` are deleted or the clock (`time.monotonic`) reaches `until`."""
    if not exists(conn, table.schema, table.table):
        return Swept(0, None)
    # By id: each batch starts after the previous one, so that deleted entries are not read again, and examines a
    # limited number of entries even if few of them are deleted.
    statement = sql.SQL(
        "WITH seen AS MATERIALIZED (SELECT q.id, {1} AS goes FROM {0} AS q WHERE q.id > {2} ORDER BY q.id LIMIT {3}),"
        " gone AS (DELETE FROM {0} WHERE id = ANY (ARRAY(SELECT id FROM seen WHERE goes)) RETURNING id)"
        " SELECT (SELECT count(*) FROM gone), (SELECT max(id) FROM seen)"
    )
    gone, older = 0, _older(owner, entry_query, before)
    while (most is None or gone < most) and (until is None or time.monotonic() < until):
        values = (identifier_of(table), older, sql.Literal(after), sql.Literal(AT_ONCE))
        count, last = conn.execute(statement.format(*values)).fetchone() or (0, None)
        if last is None:
            return Swept(gone, None)
        gone, after = gone + count, last
    return Swept(gone, after)


def _older(owner: Owner, entry_query: EntryQuery, before: datetime) -> sql.Composed:
    older = sql.SQL('q."createdAt" < {}').format(sql.Literal(before))
    return sql.SQL(" AND ").join([*_conditions(owner, entry_query), older])


def _conditions(owner: Owner | Owners, entry_query: EntryQuery) -> list[sql.Composable]:
    """Return the conditions for reading all entries at once."""
    n = entry_query
    named = {"ruleId": n.rule, "field": n.field, "status": n.status, "replayRun": n.replay_run}
    conditions: list[sql.Composable] = [is_owned(owner, "q")]
    conditions += [
        sql.SQL("q.{} = {}").format(sql.Identifier(name), sql.Literal(value))
        for name, value in named.items()
        if value is not None
    ]
    if n.runs is not None:
        conditions.append(sql.SQL('q."runId" = ANY ({})').format(sql.Literal(list(n.runs))))
    if n.search is not None:
        conditions.append(sql.SQL("q.row::text ILIKE {}").format(sql.Literal(like(n.search))))
    return conditions


def like(text: str) -> str:
    """Return the LIKE pattern of rows that contain this text, in the form in which JSON spells it."""
    spelt = json.dumps(text, ensure_ascii=False)[1:-1]
    return "%" + spelt.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"


@translate()
def read_entries(conn: Conn, table: TableName, ids: Sequence[int]) -> list[dict[str, Any]]:
    """Return entries by their ids, newest first."""
    return _entries(conn, table, sorted(ids, reverse=True), EVERY)


def _search(conn: Conn, table: TableName, positions: Sequence[Position], text: str, limit: int) -> list[Position]:
    query = sql.SQL(
        "SELECT q.id FROM unnest({}::bigint[]) WITH ORDINALITY AS p(id, place) JOIN {} AS q ON q.id = p.id"
        " WHERE q.row::text ILIKE {} ORDER BY p.place LIMIT {}"
    ).format(_ids(positions), identifier_of(table), sql.Literal(like(text)), sql.Literal(limit))
    found = {row[0] for row in conn.execute(query).fetchall()}
    return [position for position in positions if position.id in found]


def _ids(positions: Sequence[Position]) -> sql.Literal:
    return sql.Literal([position.id for position in positions])


def _entries(conn: Conn, table: TableName, ids: Sequence[int], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return entries in the order of the given ids."""
    query = sql.SQL("SELECT {} FROM {} WHERE id = ANY({}::bigint[])").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), identifier_of(table), sql.Literal(list(ids))
    )
    found = {entry["id"]: entry for entry in conn.cursor(row_factory=dict_row).execute(query)}
    return [found[number] for number in ids if number in found]
