"""Reads rejected rows from the quarantine tables of the target databases.

A table may be shared, even with another workspace that has a pipeline of the same id: only entries of this workspace
are ever shown.
"""

from __future__ import annotations

import base64
import heapq
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from itertools import groupby, islice
from typing import Any, TypeVar
from uuid import UUID

from django.utils import timezone

from executors.target_database import (
    EVERY,
    GROUP_COLUMNS,
    NEWEST_FIRST,
    STATUSES,
    Entry,
    EntryOrder,
    EntryQuery,
    Group,
    Owner,
    Owners,
    Position,
    Rejects,
    open_rejects,
)
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.quarantine.reject_tables import RejectTable, SharedTable, by_table, reject_tables_of
from flowapp.runs.models import Run
from ir.errors import FlowError

MOST_RUNS_OF_A_DAY = 10_000
KEYS = ("id", "pipelineId", "runId", "rowId", "ruleId", "createdAt", "revision")
"""The columns that order and identify entries."""


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """A filter of entries: of a pipeline, a run or the workspace. `day` is the day on which the run was queued.
    `search` is text in the row; only roles that see values may use it."""

    pipeline: Pipeline | None = None
    run: Run | None = None
    rule: str | None = None
    field: str | None = None
    status: str | None = None
    day: date | None = None
    replay: str | None = None
    search: str | None = None

    @property
    def of_pipeline(self) -> Pipeline | None:
        """The pipeline of all matching entries; None if they may belong to several."""
        return self.run.pipeline if self.run else self.pipeline

    def words(self) -> dict[str, Any]:
        """Return the filter for records: whether there was a search, without its text."""
        named = {
            "pipeline": self.pipeline and self.pipeline.slug,
            "run": self.run and str(self.run.pk),
            "rule": self.rule,
            "field": self.field,
            "status": self.status,
            "day": self.day and self.day.isoformat(),
            "replay": self.replay,
            "searched": True if self.search else None,
        }
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Entries:
    """A page of entries. `next` is the cursor of the next page, "" at the end. `is_partial` means that a search stopped
    before it had read all entries; `next` continues it."""

    entries: list[Entry]
    next: str = ""
    is_partial: bool = False


def page_entries(workspace: Workspace, *, cursor: str = "", limit: int = 50, **filters: Any) -> Entries:
    """Return a page of the matching entries of all tables.

    Raises Failure if a database does not respond, because a partial result would look complete. An invalid cursor
    returns the first page."""
    return page_filtered(workspace, EntryFilter(**filters), cursor=cursor, limit=limit)


def page_filtered(
    workspace: Workspace,
    filters: EntryFilter,
    *,
    order: EntryOrder = NEWEST_FIRST,
    cursor: str = "",
    limit: int = 50,
    columns: Sequence[str] = EVERY,
    previews: bool = False,
) -> Entries:
    """Like `page_entries`, with an `order` whose group is in `sortable_by`. `columns` selects columns of an entry and
    includes `KEYS`; with `previews` each entry has a `preview` of its row."""
    if filters.status is not None and filters.status not in STATUSES:
        raise FlowError(
            "errors.status_unknown", f"There is no status {filters.status!r}.", hint=f"Statuses: {', '.join(STATUSES)}."
        )
    positions = _decode(cursor)
    read = list(_read_all(workspace, filters, order, positions, limit + 1, columns, previews=previews))
    shown = list(islice(_merge([found.entries for found in read], order), limit))
    more = partial = False
    for found in read:
        mine = [entry for entry in shown if entry["reject_table"] == found.table.key]
        is_all, has_more = len(mine) == len(found.entries), found.looked_to is not None
        more, partial = more or not is_all or has_more, partial or (is_all and has_more)
        if is_all and found.looked_to is not None:
            positions[found.table.key] = found.looked_to
        elif mine:
            positions[found.table.key] = Position(mine[-1]["id"], _group_of(mine[-1], order))
    for entry in shown:
        del entry["reject_table"]
    return Entries(shown, _encode(positions) if more else "", partial)


def sortable_by(filters: EntryFilter) -> frozenset[Group]:
    """Return the groups for which the tables have an index under these filters."""
    if filters.search or filters.replay or filters.day or filters.field is not None:
        return frozenset()
    return frozenset({"rule"} if filters.of_pipeline else {"rule", "pipeline"})


def _merge(tables: Sequence[Iterable[Entry]], order: EntryOrder) -> Iterator[Entry]:
    """Merge the entries of several tables, each in `order`, into one iterator in that order."""

    def newest_last(entry: Entry) -> tuple[Any, ...]:
        return (_group_of(entry, order), entry["createdAt"], entry["id"])

    def newest_first(entry: Entry) -> tuple[Any, ...]:
        return (_group_of(entry, order), -entry["createdAt"].timestamp(), -entry["id"])

    if order.group is None:
        return heapq.merge(*tables, key=newest_last, reverse=not order.is_oldest_first)
    return heapq.merge(*tables, key=newest_last if order.is_reversed else newest_first, reverse=order.is_reversed)


def _group_of(entry: Entry, order: EntryOrder) -> str:
    return str(entry[GROUP_COLUMNS[order.group]]) if order.group else ""


def list_entries_of_row(workspace: Workspace, run: Run, row_id: str) -> list[Entry]:
    """Return the entries of one row of a run, in the order in which they were stored."""
    found = list(find_entries(workspace, run, [row_id]))
    return sorted(found, key=lambda entry: entry["id"])


def find_entries(workspace: Workspace, run: Run, row_ids: Collection[str]) -> Iterator[Entry]:
    """Yield the entries of rows of a run, by their row ids."""
    nodes = _nodes_of(run)
    for reject_table, rejects, entries in _entries_at(workspace, {run: row_ids}):
        fields = rejects.source_fields([str(run.pk)], nodes)
        yield from _with_table(reject_table, [_in_order(entry, fields) for entry in entries])


def find_entries_of_runs(workspace: Workspace, rows: Mapping[Run, Collection[str]]) -> Iterator[Entry]:
    """Yield the entries of rows of several runs, by their row ids. Each table is queried once, however many runs there
    are."""
    for reject_table, _, entries in _entries_at(workspace, rows):
        yield from _with_table(reject_table, entries)


def _entries_at(
    workspace: Workspace, rows: Mapping[Run, Collection[str]]
) -> Iterator[tuple[RejectTable, Rejects, list[Entry]]]:
    by_version = {run.version_id: run for run in rows}
    tables_by_version = {version: reject_tables_of(workspace, None, run) for version, run in by_version.items()}
    nodes = sorted({node for run in by_version.values() for node in _nodes_of(run)})
    for reject_table, rejects in reach(
        workspace, {reject_table for reject_tables in tables_by_version.values() for reject_table in reject_tables}
    ):
        here = [run for run in rows if reject_table in tables_by_version[run.version_id]]
        keys, attempts = [(str(run.pk), row) for run in here for row in rows[run]], max(r.attempt for r in here)
        yield (
            reject_table,
            rejects,
            rejects.entries_of_rows(owner_of(workspace, reject_table), reject_table.table, keys, nodes, attempts),
        )


def _nodes_of(run: Run) -> list[str]:
    return [target.id for target in read_document(run.document).targets()]


def _in_order(entry: Entry, fields: Sequence[str]) -> Entry:
    """Return the entry with its row's fields in the order of the source; jsonb does not store the order."""
    rows = {name: entry[name] for name in ("row", "fixedRow") if isinstance(entry[name], dict)}
    ordered = {
        name: {key: row[key] for key in dict.fromkeys((*fields, *row)) if key in row} for name, row in rows.items()
    }
    return {**entry, **ordered}


@dataclass(frozen=True, slots=True)
class _Found:
    """The entries of one table for a page. `looked_to` is the last entry that was read; None if all were read."""

    table: SharedTable
    entries: list[Entry]
    looked_to: Position | None = None


def _read_all(
    workspace: Workspace,
    filters: EntryFilter,
    order: EntryOrder,
    positions: Mapping[str, Position],
    limit: int,
    columns: Sequence[str],
    *,
    previews: bool,
) -> Iterator[_Found]:
    entry_query = replace(entry_query_of(workspace, filters), order=order)
    for shared, rejects in reach(workspace, by_table(reject_tables_of(workspace, filters.pipeline, filters.run))):
        owners, after = owners_of(workspace, shared), positions.get(shared.key)
        page = rejects.page(owners, shared.table, entry_query, after, limit, columns, previews=previews)
        yield _Found(shared, _with_table(shared, page.entries), page.reached)


def _with_table(reject_table: RejectTable | SharedTable, entries: Iterable[Entry]) -> list[Entry]:
    more = {
        "table": str(reject_table.table),
        "connection": reject_table.connection,
        "reject_table": reject_table.key,
        "table_name": (reject_table.table.schema, reject_table.table.table),
    }
    return [{**entry, **more, "key": f"{entry['runId']}:{entry['rowId']}"} for entry in entries]


Place = TypeVar("Place", RejectTable, SharedTable)


def reach(workspace: Workspace, reject_tables: Iterable[Place]) -> Iterator[tuple[Place, Rejects]]:
    """Yield each table with the interface to its database, with one session per connection."""
    by_connection = sorted(reject_tables, key=lambda reject_table: reject_table.connection)
    for name, here in groupby(by_connection, key=lambda reject_table: reject_table.connection):
        with open_rejects(resolve(get_connection(workspace, name))) as rejects:
            for reject_table in here:
                yield reject_table, rejects


def entry_query_of(workspace: Workspace, filters: EntryFilter) -> EntryQuery:
    """Return the query of a filter for one table. A day is queried by the runs that were queued on it."""
    runs: tuple[str, ...] | None = None
    if filters.run is not None:
        runs = (str(filters.run.pk),)
    elif filters.day is not None:
        runs = _runs_of_day(workspace, filters, filters.day)
    return EntryQuery(
        runs, filters.rule, filters.field, filters.status, replay_run=filters.replay, search=filters.search or None
    )


def _runs_of_day(workspace: Workspace, filters: EntryFilter, day: date) -> tuple[str, ...]:
    """Return the runs of a day, without those known to have stored no rejected row. Raises FlowError if there are too
    many, because the entries of some runs would look like all."""
    start = timezone.make_aware(datetime.combine(day, time()))
    end = timezone.make_aware(datetime.combine(day, time.max))  # date.max has no next day
    runs = Run.objects.filter(workspace=workspace, queued_at__gte=start, queued_at__lte=end)
    if filters.pipeline is not None:
        runs = runs.filter(pipeline=filters.pipeline)
    keys = runs.exclude(quarantine_rows=0).values_list("pk", flat=True)[: MOST_RUNS_OF_A_DAY + 1]
    if len(keys) > MOST_RUNS_OF_A_DAY:
        raise FlowError(
            "errors.too_many_runs",
            f"More than {MOST_RUNS_OF_A_DAY:,} runs of {day} have rejected rows.",
            hint="Filter by pipeline or run.",
        )
    return tuple(map(str, keys))


def owner_of(workspace: Workspace, reject_table: RejectTable) -> Owner:
    return Owner(str(workspace.pk), reject_table.pipeline)


def owners_of(workspace: Workspace, shared: SharedTable) -> Owners:
    return Owners(str(workspace.pk), shared.pipelines)


def runs_here(workspace: Workspace, runs: Iterable[str]) -> set[str]:
    """Return those of the run ids that belong to this workspace."""
    keys = [key for text in runs if (key := _uuid(text))]
    if not keys:
        return set()
    return {str(key) for key in Run.objects.filter(workspace=workspace, pk__in=keys).values_list("pk", flat=True)}


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _encode(positions: Mapping[str, Position]) -> str:
    return base64.urlsafe_b64encode(json.dumps(positions).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> dict[str, Position]:
    """Return the last shown entry of each table. Raises ValueError for an invalid cursor."""
    try:
        positions = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))) if cursor else {}
        found = {str(table): Position(int(last), str(group)) for table, (last, group) in positions.items()}
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError("no cursor") from error
    if any(abs(last.id) >= 2**63 or "\0" in last.group for last in found.values()):
        raise ValueError("no cursor")
    return found


def _decode(cursor: str) -> dict[str, Position]:
    """Read a cursor for a page; an invalid one, such as from an old bookmark, returns the first page."""
    try:
        return read_cursor(cursor)
    except ValueError:
        return {}
