"""Commits a load: its files and its marker in one entry of the log, or none of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from deltalake import CommitProperties, DeltaTable
from deltalake.exceptions import CommitFailedError

from executors.delta.failures import translate
from executors.delta.load_modes import LOAD_MODES
from executors.delta.markers import Marker, marker_of
from executors.delta.plan import Change, DeltaPlan
from executors.delta.tables import require_schema
from executors.errors import Failure
from executors.load_record import LoadCommit, LoadCounts

MOST_TRIES, PAUSE_SECONDS = 10, 0.2

Describe = Callable[[LoadCounts], LoadCommit]
"""Returns the commit of a load with these numbers of rows."""


def commit_load(plan: DeltaPlan, describe: Describe) -> Marker:
    """Load the staged rows, and write and return the marker of the load. It happens at most once.

    If another commit was faster, the change is made again on the new version of the table. Raises LeaseLost if the
    fence is newer, TargetBusy if other commits are always faster, and Transient `staging.lost`. If the answer to a
    commit is lost, the log shows whether it happened.
    """
    for attempt in range(MOST_TRIES):
        if done := _try(plan, describe):
            return done
        time.sleep(PAUSE_SECONDS * (attempt + 1))
    raise plan.log.busy(plan.run, MOST_TRIES)


def _try(plan: DeltaPlan, describe: Describe) -> Marker | None:
    log, table = plan.log, plan.log.folder.open() or _create(plan)
    log.require_fence(table, plan.run)
    if done := marker_of(log.markers(table), plan.run):
        return done
    require_schema(table, plan.schema, plan.run.node)
    change = LOAD_MODES[plan.load_mode](plan, table)
    commit = describe(_counts(plan, change))
    added = tuple(action.path for action in change.added)
    previous = log.last_token(table)
    marker = Marker(commit, added, previous, plan.rejects, tuple(plan.read), plan.by, plan.reason)
    log.write(marker)
    try:
        _commit(plan, table, change)
    except CommitFailedError:
        return None
    except Failure as failure:
        return _require_committed(plan, failure)
    return marker


def _create(plan: DeltaPlan) -> DeltaTable:
    """Create the table, empty, unless another session has done so since. Raises LeaseLost if a newer attempt has found
    no table that it could fence."""
    table = plan.log.folder.create(plan.schema)
    plan.log.require_newest(plan.run)
    return table


def _commit(plan: DeltaPlan, table: DeltaTable, change: Change) -> None:
    """Raises CommitFailedError if another commit was faster: a retry of the library would not make the change again."""
    properties = CommitProperties(
        custom_metadata={"flow.run": plan.run.run_id, "flow.node": plan.run.node},
        max_commit_retries=0,
        app_transactions=plan.log.transactions(plan.run, loads=True),
    )
    with translate(plan.log.folder.name, plan.run.node):
        table.create_write_transaction(
            [*change.added, *change.removed],
            mode="overwrite" if change.replaces_all else "append",
            schema=table.schema(),
            commit_properties=properties,
        )


def _require_committed(plan: DeltaPlan, failure: Failure) -> Marker:
    """Return the marker if the log has it, although its answer was lost. Raises the failure if the log has not."""
    try:
        table = plan.log.folder.open()
    except Failure:
        raise failure from None
    if table is not None and (done := marker_of(plan.log.markers(table), plan.run)):
        return done
    raise failure


def _counts(plan: DeltaPlan, change: Change) -> LoadCounts:
    return LoadCounts(
        plan.staged,
        change.inserted,
        change.updated,
        change.unchanged,
        replaced=change.replaced,
        suppressed=change.older,
        older=change.older,
    )
