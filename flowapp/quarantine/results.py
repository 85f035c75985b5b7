"""The result of each row of a replay, as stored beside the rejected rows, page by page. It contains no row values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from executors.model import Connection as Resolved
from executors.target_database import StoredResult, read_replay_results
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.documents import read_document
from flowapp.quarantine.selectors import find_entries_of_runs
from flowapp.runs.models import Run
from flowapp.runs.run_kinds import run_kind_of
from ir.errors import FlowError
from ir.quarantines import rejects_connection

USUAL = 50


@dataclass(frozen=True, slots=True)
class RowResult:
    """The result of a row. `now` is its current status, None if its entries are deleted."""

    listed: StoredResult
    now: str | None

    @property
    def key(self) -> str | None:
        """The row's key; only a number if the row was purged before the replay."""
        return f"{self.listed.row_run}:{self.listed.row_id}" if self.listed.row_run else None


@dataclass(frozen=True, slots=True)
class RowResults:
    """A page of results. `counted` are the numbers that the run counted, `listed` the numbers of stored results; if
    they differ, the results of some rows are unknown. `next` is the cursor of the next page, "" at the end."""

    rows: Sequence[RowResult]
    counted: Mapping[str, int]
    listed: Mapping[str, int]
    next: str = ""

    @property
    def unlisted(self) -> int:
        """The number of rows that the run counted but the list does not contain."""
        return sum(max(0, rows - self.listed.get(result, 0)) for result, rows in self.counted.items())


def page_results(run: Run, *, result: str | None = None, cursor: str = "", limit: int = USUAL) -> RowResults:
    """Return a page of the results of a replay's rows, all or those with one result, in order of rejection, newest load
    last. An invalid cursor returns the first page.

    Raises FlowError if the run is no replay, and Failure if the database of the rejected rows does not respond.
    """
    over_rows = run_kind_of(run).over_rows
    if over_rows is None or not over_rows.loads:
        raise FlowError(
            "run.no_replay",
            f"{run.title} of {run.pipeline.slug} replayed no rows.",
            hint="For a check without a load, see `rows.results`.",
        )
    counted = dict(run.stored_report.row_results)
    if result is not None and result not in counted:
        raise FlowError(
            "errors.result_unknown",
            f"Run {run.number} has no row with the result {result!r}.",
            hint=f"It has: {', '.join(counted) or 'none at all'}.",
        )
    after = int(cursor) if cursor.isdecimal() and len(cursor) < 10 else 0
    connection, node = _database_of(run), run.row_job.node
    found = read_replay_results(connection, str(run.pk), node, result=result, after=after, limit=limit + 1)
    shown = found.rows[:limit]
    now = _standing(run, shown)
    rows = [RowResult(one, now.get((one.row_run, one.row_id))) for one in shown]
    return RowResults(rows, counted, found.counts, str(shown[-1].position) if len(found.rows) > limit else "")


def _database_of(run: Run) -> Resolved:
    """Return the database of the rows that a run replays, which also stores their results. Raises FlowError."""
    document = read_document(run.document)
    target = next(target for target in document.targets() if target.id == run.row_job.node)
    return resolve(get_connection(run.workspace, rejects_connection(document, target) or target.connection))


def _standing(run: Run, listed: Sequence[StoredResult]) -> dict[tuple[str | None, str | None], str]:
    """Return the current status of these rows."""
    ids = {UUID(one.row_run) for one in listed if one.row_run}
    runs = Run.objects.filter(workspace=run.workspace_id, pk__in=ids).select_related("pipeline", "version")
    known = {str(found.pk): found for found in runs}
    rows: dict[Run, list[str]] = defaultdict(list)
    for one in listed:
        if one.row_id is not None and one.row_run in known:
            rows[known[one.row_run]].append(one.row_id)
    entries = find_entries_of_runs(run.workspace, rows) if rows else ()
    return {(entry["runId"], entry["rowId"]): entry["status"] for entry in entries}
