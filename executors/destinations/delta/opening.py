"""Opens a Delta table as the target of a run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError

from executors.delta.failures import translate
from executors.delta.folders import folder_of
from executors.delta.markers import Marker, TargetLog, marker_of
from executors.delta.staging import StagedFiles
from executors.destinations.delta.rejects import RejectStore, open_rejects
from executors.errors import Terminal
from executors.load_record import LoadCommit, RunRef
from executors.model import Connection, StoreConnection
from executors.postgres.client import interrupt
from ir.quarantines import rejects_connection

if TYPE_CHECKING:
    from executors.runs.state import RunContext
    from ir.nodes import Target

MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class DeltaTarget:
    """The table of a target when its run began, None if it did not exist, and the loads that it had, the newest
    first. `rejects` stores the rejected rows, if they are not only counted."""

    store: StoreConnection
    log: TargetLog
    table: DeltaTable | None
    markers: tuple[Marker, ...] = ()
    rejects: RejectStore | None = None


def open_delta(context: RunContext, target: Target, *, fences: bool) -> DeltaTarget:
    """Open the table, with `fences` so that older attempts cannot commit to it. Raises Terminal
    `target.went_back` if it no longer has the last known load."""
    run, store = context.run_ref(target), context.job.stores[target.connection]
    log = TargetLog.of(folder_of(store, target.schema_, target.table), run.tenant, run.pipeline, run.node)
    rejects = _open_rejects(context, target, run)
    if rejects and fences:
        rejects.raise_fence(run)
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
    return DeltaTarget(store, log, table, markers, rejects)


def fence_and_find_commits(
    store: StoreConnection, connections: Mapping[str, Connection], target: Target, run: RunRef
) -> list[LoadCommit]:
    """Raise the fence of a target, so that no older load can commit to its table, and settle and return the commits of
    the run."""
    log = TargetLog.of(folder_of(store, target.schema_, target.table), run.tenant, run.pipeline, run.node)
    table = _fenced(log, run)
    markers = log.markers(table) if table is not None else ()
    return [_settled(connections, target, run, one) for one in markers if one.commit.run_id == run.run_id]


def _settled(connections: Mapping[str, Connection], target: Target, run: RunRef, marker: Marker) -> LoadCommit:
    if marker.rejects is None:
        return marker.commit
    with ExitStack() as stack:
        rejects = open_rejects(stack, connections, marker.rejects, run)
        rejects.raise_fence(run)
        return rejects.settle(run, marker, target.connection)


def settle_all(opened: DeltaTarget, target: Target, run: RunRef) -> LoadCommit | None:
    """Settle the loads of the target that the database of the rejected rows does not know: the last one, if its worker
    ended before it could, and those of versions with another or no such database. Return the commit of this run if it
    has one."""
    mine, rejects = marker_of(opened.markers, run), opened.rejects
    if rejects is not None:
        for marker in rejects.find_unsettled(run, opened.markers):
            rejects.settle(run, marker, target.connection)
        if mine is not None:
            return rejects.settle(run, mine, target.connection)
    return mine.commit if mine else None


def _open_rejects(context: RunContext, target: Target, run: RunRef) -> RejectStore | None:
    name = rejects_connection(context.job.pipeline, target)
    if name is None:
        return None
    rejects = open_rejects(context.stack, context.job.connections, name, run)
    context.interrupts.add(lambda: interrupt(rejects.session))
    return rejects


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
