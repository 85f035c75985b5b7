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

from django.db.models import TextField
from django.db.models.functions import Cast
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
"""By which entries are put in order and told apart."""


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries: all those of a pipeline or run, or of the workspace. `day` is the day on which their run was asked
    for; `search` is text in the row, which only those may look for who see values."""

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
        """The one pipeline whose entries these are; None where they are of all."""
        return self.run.pipeline if self.run else self.pipeline

    def words(self) -> dict[str, Any]:
        """What may be kept of it: whether text was looked for, not which."""
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
    """Some entries, and the cursor of those that follow: "" where there are none. `is_partial` says that
    a search stopped before it had looked at everything; the cursor goes on from there."""

    entries: list[Entry]
    next: str = ""
    is_partial: bool = False


def page_entries(workspace: Workspace, *, cursor: str = "", limit: int = 50, **filters: Any) -> Entries:
    """A page of the entries that `EntryFilter` says, of all their tables together.

    Raises Failure when one of their databases cannot be asked: a part is never shown as the whole. A cursor that makes
    no sense gives the first page.
    """
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
    """As `page_entries`, in an `order` whose group is among `sortable_by`. `columns` are those that are told of an
    entry, `KEYS` among them; with `previews` each has a `preview` of its row."""
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
        is_all, goes_on = len(mine) == len(found.entries), found.looked_to is not None
        more, partial = more or not is_all or goes_on, partial or (is_all and goes_on)
        if is_all and found.looked_to is not None:
            positions[found.table.key] = found.looked_to
        elif mine:
            positions[found.table.key] = Position(mine[-1]["id"], _group_of(mine[-1], order))
    for entry in shown:
        del entry["reject_table"]
    return Entries(shown, _encode(positions) if more else "", partial)


def sortable_by(filters: EntryFilter) -> frozenset[Group]:
    """What the entries of a filter can be grouped by: that for which their tables have an index."""
    if filters.search or filters.replay or filters.day or filters.field is not None:
        return frozenset()
    return frozenset({"rule"} if filters.of_pipeline else {"rule", "pipeline"})


def _merge(tables: Sequence[Iterable[Entry]], order: EntryOrder) -> Iterator[Entry]:
    """The entries of several tables in one order, as each table has its own."""

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
    """All rules that one row of a run violated, in the order in which they were noted."""
    found = list(find_entries(workspace, run, [row_id]))
    return sorted(found, key=lambda entry: entry["id"])


def find_entries(workspace: Workspace, run: Run, row_ids: Collection[str]) -> Iterator[Entry]:
    """All entries of rows of a run, by their row ids."""
    nodes = _nodes_of(run)
    for reject_table, rejects, entries in _entries_at(workspace, {run: row_ids}):
        fields = rejects.source_fields([str(run.pk)], nodes)
        yield from _with_table(reject_table, [_in_order(entry, fields) for entry in entries])


def find_entries_of_runs(workspace: Workspace, rows: Mapping[Run, Collection[str]]) -> Iterator[Entry]:
    """All entries of rows of several runs, by their row ids. However many runs there are, a table is asked once."""
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
    """With its row's values in the order that the run's source had: a jsonb has an order of its own."""
    rows = {name: entry[name] for name in ("row", "fixedRow") if isinstance(entry[name], dict)}
    ordered = {
        name: {key: row[key] for key in dict.fromkeys((*fields, *row)) if key in row} for name, row in rows.items()
    }
    return {**entry, **ordered}


@dataclass(frozen=True, slots=True)
class _Found:
    """What a table holds of a page. `looked_to` is the entry up to which was looked, None if to the end."""

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
    """Each place with the rejected rows of its database, over one session for each connection."""
    by_connection = sorted(reject_tables, key=lambda reject_table: reject_table.connection)
    for name, here in groupby(by_connection, key=lambda reject_table: reject_table.connection):
        with open_rejects(resolve(get_connection(workspace, name))) as rejects:
            for reject_table in here:
                yield reject_table, rejects


def entry_query_of(workspace: Workspace, filters: EntryFilter) -> EntryQuery:
    """The same for one table. A day is told by the runs that were asked for on it."""
    runs: tuple[str, ...] | None = None
    if filters.run is not None:
        runs = (str(filters.run.pk),)
    elif filters.day is not None:
        runs = _runs_of_day(workspace, filters, filters.day)
    return EntryQuery(
        runs, filters.rule, filters.field, filters.status, replay_run=filters.replay, search=filters.search or None
    )


def _runs_of_day(workspace: Workspace, filters: EntryFilter, day: date) -> tuple[str, ...]:
    """The runs of a day, without those that are known to have kept no row. Raises FlowError where they are too many,
    for the entries of some would pass for those of all."""
    start = timezone.make_aware(datetime.combine(day, time()))
    end = timezone.make_aware(datetime.combine(day, time.max))  # the day after the last one of all does not exist
    runs = Run.objects.filter(workspace=workspace, queued_at__gte=start, queued_at__lte=end)
    if filters.pipeline is not None:
        runs = runs.filter(pipeline=filters.pipeline)
    keys = runs.exclude(quarantine_rows=0).values_list(Cast("pk", TextField()), flat=True)[: MOST_RUNS_OF_A_DAY + 1]
    if len(keys) > MOST_RUNS_OF_A_DAY:
        raise FlowError(
            "errors.too_many_runs",
            f"More than {MOST_RUNS_OF_A_DAY:,} runs of {day} have rejected rows.",
            hint="Filter by pipeline or run.",
        )
    return tuple(keys)


def owner_of(workspace: Workspace, reject_table: RejectTable) -> Owner:
    return Owner(str(workspace.pk), reject_table.pipeline)


def owners_of(workspace: Workspace, shared: SharedTable) -> Owners:
    return Owners(str(workspace.pk), shared.pipelines)


def runs_here(workspace: Workspace, runs: Iterable[str]) -> set[str]:
    """Those of them that this workspace knows."""
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
    """For each table the last entry that was shown; raises ValueError for a cursor that no page gave."""
    try:
        positions = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))) if cursor else {}
        found = {str(table): Position(int(last), str(group)) for table, (last, group) in positions.items()}
    except (TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError("no cursor") from error
    if any(abs(last.id) >= 2**63 or "\0" in last.group for last in found.values()):
        raise ValueError("no cursor")
    return found


def _decode(cursor: str) -> dict[str, Position]:
    """The same for a page, whose old bookmark shows the first one."""
    try:
        return read_cursor(cursor)
    except ValueError:
        return {}
