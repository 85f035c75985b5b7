"""Deletes rejected rows: on request with a reason, and when their retention ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import groupby
from typing import Any

from django.utils import timezone

from executors.errors import Failure
from executors.target_database import COUNT_SECONDS, Counted
from flowapp.accounts.models import Workspace
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.models import Retention, RowDecision
from flowapp.quarantine.records import BROKE_OFF, LEFT, note_decision, note_purged
from flowapp.quarantine.reject_tables import RejectTable, orphaned_reject_tables, reject_tables_of
from flowapp.quarantine.selectors import EntryFilter, entry_query_of, owner_of, reach
from flowapp.runs.holds import Decider
from flowapp.runs.selectors import get_run
from ir.errors import FlowError

logger = logging.getLogger(__name__)
BY_TIME = Decider("retention")
MOST_DAYS = 36_500
SECONDS = 20
"""The time limit of a purge while a user waits; the scheduler continues it."""
SECONDS_TO_CONTINUE = 10
"""The time limit of the scheduler, which has other tasks."""
MOST_BY_TIME = 500_000
"""The maximum number of expired entries that are deleted from one table at a time, because the scheduler has other
tasks."""


def rows_to_purge(workspace: Workspace, filters: EntryFilter, days: int) -> Counted:
    """Count the entries to delete. The time limit does not depend on the number of tables."""
    before, entry_query, until = _before(days), entry_query_of(workspace, filters), time.monotonic() + COUNT_SECONDS
    found = 0
    for reject_table, rejects in reach(workspace, reject_tables_of(workspace, filters.pipeline, filters.run)):
        left = until - time.monotonic()
        counted = rejects.count_older(owner_of(workspace, reject_table), reject_table.table, entry_query, before, left)
        found += counted.entries
        if not counted.is_whole:
            return Counted(found, is_whole=False)
    return Counted(found, is_whole=True)


def counted_document(counted: Counted) -> dict[str, int | None]:
    """Return the count as JSON. An incomplete count is `atLeast`, with null as the number of entries."""
    if counted.is_whole:
        return {"entries": counted.entries}
    return {"entries": None, "atLeast": counted.entries}


@dataclass(frozen=True, slots=True)
class Purged:
    """The number of deleted entries, and whether all were deleted. If not, the scheduler continues."""

    entries: int
    is_whole: bool


def purge(
    workspace: Workspace, filters: EntryFilter, days: int, by: Decider, reason: str, *, seconds: float | None = None
) -> Purged:
    """Delete older entries, open ones included, within a time limit. Raises FlowError, and Failure if a database does
    not respond."""
    if not reason.strip():
        raise FlowError("reason.required", "A purge needs a reason.", hint="Give a reason. It is stored.")
    if filters.search:
        raise FlowError(
            "purge.search",
            "Rows cannot be purged by their values.",
            hint="Filter by pipeline, run, rule, field or status.",
        )
    reject_tables = reject_tables_of(workspace, filters.pipeline, filters.run)
    sweep = _Sweep(workspace, filters, _before(days), until=None if seconds is None else time.monotonic() + seconds)
    _delete_and_record(sweep, reject_tables, days, by, reason, continues=True)
    return Purged(sweep.deleted, not sweep.left)


def _delete_and_record(
    sweep: _Sweep, reject_tables: Sequence[RejectTable], days: int, by: Decider, reason: str, *, continues: bool
) -> None:
    """Delete entries and record the purge. With `continues`, the scheduler continues if time runs out."""
    left: dict[str, int] = {}
    try:
        sweep.over(reject_tables)
        left = sweep.left if continues else left
    finally:
        # Deletions stay even if another database does not respond.
        if sweep.deleted or left:
            filters = sweep.filters
            details = {"filters": filters.words(), "olderThanDays": days, "before": sweep.before.isoformat()}
            note_decision(
                sweep.workspace,
                filters.of_pipeline,
                "purge",
                by,
                rows=sweep.deleted,
                reason=reason,
                details={**details, **({LEFT: left} if left else {})},
            )


def continue_purges() -> int:
    """Continue unfinished purges; return the number of deleted entries."""
    deleted, until = 0, time.monotonic() + SECONDS_TO_CONTINUE
    for decision in RowDecision.objects.filter(action="purge", details__has_key=LEFT).order_by("at", "id"):
        if time.monotonic() < until:
            deleted += _continue(decision, until)
    return deleted


def _continue(decision: RowDecision, until: float) -> int:
    """Continue one purge. An unresponsive database is retried next time; a removed connection is given up, and the
    record says that not all entries were deleted."""
    details = dict(decision.details)
    left, before = details.pop(LEFT), datetime.fromisoformat(details["before"])
    try:
        filters = _filters(decision.workspace, details["filters"])
        reject_tables = {
            reject_table.key: reject_table
            for reject_table in reject_tables_of(decision.workspace, filters.pipeline, filters.run)
        }
    except FlowError as error:
        logger.warning("A purge of rejected rows cannot continue: %s", error)
        note_purged(decision, 0, {**details, BROKE_OFF: True})
        return 0
    sweep = _Sweep(decision.workspace, filters, before, until=until, left={**left})
    try:
        sweep.over([reject_tables[key] for key in left if key in reject_tables])
    except Failure as error:
        logger.warning("A purge of rejected rows waits: %s", error)
    except FlowError as error:
        logger.warning("A purge of rejected rows cannot continue: %s", error)
        sweep.left = {}
        details[BROKE_OFF] = True
    if not left.keys() <= reject_tables.keys():
        details[BROKE_OFF] = True
    note_purged(decision, sweep.deleted, {**details, **({LEFT: sweep.left} if sweep.left else {})})
    return sweep.deleted


@dataclass(slots=True)
class _Sweep:
    """Delete entries older than `before` until a deadline (`time.monotonic`), about `most` per table. `left` maps
    unfinished tables by key to the id after which to continue."""

    workspace: Workspace
    filters: EntryFilter
    before: datetime
    until: float | None = None
    most: int | None = None
    deleted: int = 0
    left: dict[str, int] = field(default_factory=dict)

    def over(self, reject_tables: Sequence[RejectTable]) -> None:
        entry_query = entry_query_of(self.workspace, self.filters)
        self.left = {reject_table.key: self.left.get(reject_table.key, -1) for reject_table in reject_tables}
        for reject_table, rejects in reach(self.workspace, reject_tables):
            swept = rejects.delete_older(
                owner_of(self.workspace, reject_table),
                reject_table.table,
                entry_query,
                self.before,
                after=self.left[reject_table.key],
                most=self.most,
                until=self.until,
            )
            self.deleted += swept.gone
            if swept.reached is None:
                del self.left[reject_table.key]
            else:
                self.left[reject_table.key] = swept.reached


def _filters(workspace: Workspace, words: Mapping[str, Any]) -> EntryFilter:
    """Restore the filters of a purge from its record. Raises FlowError if a pipeline or run no longer exists."""
    pipeline, run, day = (words.get(name) for name in ("pipeline", "run", "day"))
    return EntryFilter(
        pipeline=get_pipeline(workspace, pipeline) if pipeline else None,
        run=get_run(workspace, run) if run else None,
        day=date.fromisoformat(day) if day else None,
        **{name: words.get(name) for name in ("rule", "field", "status", "replay")},
    )


def set_retention(workspace: Workspace, days: int | None, by: Decider) -> None:
    """Keep rejected rows for the given number of days from now on; None keeps them until a user deletes them."""
    if days is None:
        Retention.objects.filter(workspace=workspace).delete()
    else:
        _before(days)
        Retention.objects.update_or_create(workspace=workspace, defaults={"days": days})
    note_decision(workspace, None, "retention", by, rows=0, details={"days": days})


def _before(days: int) -> datetime:
    """Return the time that many days ago. Raises FlowError if it is out of the calendar's range."""
    if not 0 <= days <= MOST_DAYS:
        raise FlowError("purge.days_invalid", f"{days:,} days are too many.", hint=f"Give up to {MOST_DAYS:,}.")
    return timezone.now() - timedelta(days=days)


def retention_of(workspace: Workspace) -> int | None:
    return Retention.objects.filter(workspace=workspace).values_list("days", flat=True).first()


def purge_old_rows() -> int:
    """Delete expired rows in every workspace with a retention, over each reachable connection."""
    deleted = 0
    for retention in Retention.objects.select_related("workspace").order_by("pk"):
        try:
            all_tables = dict.fromkeys(
                [*reject_tables_of(retention.workspace, None, None), *orphaned_reject_tables(retention.workspace)]
            )
            reject_tables = sorted(all_tables, key=_connection)
        except FlowError as error:
            logger.warning("Rejected rows of workspace %s were not purged: %s", retention.workspace, error)
            continue
        for name, here in groupby(reject_tables, key=_connection):
            deleted += _delete_expired(retention, name, list(here))
    return deleted


def _delete_expired(retention: Retention, connection: str, reject_tables: list[RejectTable]) -> int:
    why = f"Older than {retention.days} days."
    sweep = _Sweep(retention.workspace, EntryFilter(), _before(retention.days), most=MOST_BY_TIME)
    try:
        _delete_and_record(sweep, reject_tables, retention.days, BY_TIME, why, continues=False)
    except FlowError as error:
        logger.warning(
            "Purging rejected rows of workspace %s failed at connection %s: %s",
            retention.workspace,
            connection,
            error,
        )
    return sweep.deleted


def _connection(reject_table: RejectTable) -> str:
    return reject_table.connection
