"""Opens a Delta table as the target of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError

from executors.delta.failures import translate
from executors.delta.folders import folder_of
from executors.delta.markers import Marker, TargetLog
from executors.delta.staging import StagedFiles
from executors.errors import Terminal
from executors.load_record import LoadCommit, RunRef
from executors.model import StoreConnection

if TYPE_CHECKING:
    from executors.runs.state import RunContext
    from ir.nodes import Target

MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """The table of a target when its run began, None if it did not exist, and the loads that it had, the newest
    first."""

    store: StoreConnection
    log: TargetLog
    table: DeltaTable | None
    markers: tuple[Marker, ...] = ()


def open_delta(context: RunContext, target: Target, *, fences: bool) -> DeltaTarget:
    """Open the table, with `fences` so that older attempts cannot commit to it. Raises Terminal
    `target.went_back` if it no longer has the last known load."""
    run, store = context.run_ref(target), context.job.stores[target.connection]
    log = TargetLog.of(folder_of(store, target.schema_, target.table), run.tenant, run.pipeline, run.node)
    table = _fenced(log, run) if fences else log.folder.open()
    markers = tuple(log.markers(table)) if table is not None else ()
    if fences:
        _sweep(log, run, markers)
    known = context.ports.last_commit(target.id)
    if known and not _has_load(log, markers, known):
        raise Terminal(
            "target.went_back",
            f"{log.folder.name} no longer holds the load of run {known}: the table was replaced or restored to an "
            "older state.",
            node=target.id,
            hint="Compare the table with its source, then load what is missing again, with a reason.",
        )
    return DeltaTarget(store, log, table, markers)


def fence_and_find_commits(store: StoreConnection, target: Target, run: RunRef) -> list[LoadCommit]:
    """Raise the fence of a target, so that no older load can commit to its table, and return the commits of the run."""
    log = TargetLog.of(folder_of(store, target.schema_, target.table), run.tenant, run.pipeline, run.node)
    table = _fenced(log, run)
    markers = log.markers(table) if table is not None else ()
    return [marker.commit for marker in markers if marker.commit.run_id == run.run_id]


def _has_load(log: TargetLog, markers: tuple[Marker, ...], run_id: str) -> bool:
    """Return whether the table has the load of a run, or a former table of the target may have it."""
    if run_id in {marker.commit.run_id for marker in markers}:
        return True
    return run_id in {commit.run_id for commit in log.find_former()}


def _sweep(log: TargetLog, run: RunRef, markers: tuple[Marker, ...]) -> None:
    """Delete the files of earlier attempts at this run that are not part of the table. The fence prevents their
    commits."""
    added = {path for marker in markers for path in marker.added}
    for attempt in range(1, run.attempt):
        files = StagedFiles(run.run_id, run.node, attempt)
        log.folder.delete(p for p in log.folder.list(run.run_id) if files.is_added(p) and p not in added)
        log.folder.delete_folder(files.folder)


def _fenced(log: TargetLog, run: RunRef) -> DeltaTable | None:
    """Raise the fence of the target, and return the table after that; None if it does not exist yet."""
    if log.folder.open() is None:
        log.note_fence(run)
    for _ in range(MOST_TRIES):
        table = log.folder.open()
        if table is None:
            return None
        log.require_fence(table, run)
        if log.fence_of(table) == run.token:
            return table
        properties = CommitProperties(max_commit_retries=0, app_transactions=log.transactions(run, loads=False))
        try:
            with translate(log.folder.name, run.node):
                table.create_write_transaction([], mode="append", schema=table.schema(), commit_properties=properties)
        except CommitFailedError:
            continue
    raise log.busy(run, MOST_TRIES)
