"""End runs that have failed or are cancelled, once their targets have confirmed what is committed."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction

from executors.api import DELETED, UNDONE, LoadCommit, report_commits
from executors.errors import Cancelled
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now, from_now
from flowapp.pipelines.documents import read_document
from flowapp.processes.heartbeats import process_name
from flowapp.runs.ends import alert_failed, end_claimed, error_fields, loaded_state, resolve_alerts
from flowapp.runs.events import run_ended
from flowapp.runs.holds import drop_approved
from flowapp.runs.leases import Claim, claim_run
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.services import finish_units, mark_deleted, release_units, undo_units
from flowapp.runs.models import CLAIMABLE, UNSUCCESSFUL, Run, State
from flowapp.runs.reports import save_commit, save_report
from flowapp.runs.requeueing import requeue
from flowapp.runs.row_count_anomalies import watch_row_counts
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.sort_values import store_sort_values
from flowapp.runs.targets import fence_and_find, has_loaded_all, targets_of
from ir.errors import FlowError

DEFER_SECONDS = 10.0


def finalize(claim: Claim, run: Run, outcome: State, error: FlowError) -> None:
    """Fail or cancel a run after its targets have confirmed that it has not committed."""
    run.refresh_from_db()
    commits: list[LoadCommit] = []
    if run.may_have_committed:
        try:
            commits = fence_and_find(run)
        except FlowError as trouble:
            _defer(claim, run, outcome, error, trouble)
            return
        resolve_by("fence.raised", pipeline_id=run.pipeline_id)
    kind = run_kind_of(run)
    if commits and not kind.repeats and has_loaded_all(run, commits):
        _finish_loaded(claim, run, commits, error)
        return
    with transaction.atomic():
        claim.guard()
        for commit in commits:
            save_commit(run, commit)
        # The engine has marked faulty files as failed; the next run may load all others.
        release_units(run, UnitState.PENDING, "" if outcome == State.CANCELLED else error.message)
        # Some targets are loaded: a failed or cancelled state would say that none is.
        state = State.PARTIALLY_LOADED if commits and not kind.repeats else outcome
        end_claimed(claim, run, state, {}, error)
        if state in UNSUCCESSFUL and kind.counts:
            alert_failed(run, error, _partly(run, commits))
    drop_approved(run)


def _partly(run: Run, commits: Sequence[LoadCommit]) -> str:
    """Return the beginning of the alert for a run that has loaded only some targets."""
    if not commits or run_kind_of(run).repeats:
        return ""
    loaded = sorted({commit.node for commit in commits})
    missing = sorted(targets_of(run) - set(loaded))
    return f"Partially loaded: {', '.join(loaded)} loaded, {', '.join(missing)} not. "


def _defer(claim: Claim, run: Run, outcome: State, error: FlowError, trouble: FlowError) -> None:
    """Defer the end of a run whose target is unreachable: it stays running under an expiring lease until the target
    responds."""
    changes = {"outcome": outcome, "lease_owner": "", "lease_until": from_now(DEFER_SECONDS), **error_fields(error)}
    with transaction.atomic():
        if not claim.held().update(**changes):
            raise claim.lost()
        raise_alert(
            "target.unreachable_for_fence",
            "error",
            f"{run.pipeline} cannot finish as {outcome}: its target does not answer whether the load was committed "
            f"({trouble.code}).",
            "Make the target available again. The run then finishes automatically.",
            pipeline=run.pipeline,
            run=run,
        )


def _finish_loaded(claim: Claim, run: Run, commits: Sequence[LoadCommit], error: FlowError) -> None:
    """Finish a run whose targets have all committed. One more attempt finishes the rest, mainly files. If that attempt
    fails too, the counts of the commit markers become the run's result."""
    if not run.finishing:
        requeue(claim, run, error, 0, finishing=True)
        return
    kind = run_kind_of(run)
    report = report_commits(
        read_document(run.document),
        commits,
        error,
        runs_post_hooks=kind.runs_post_hooks,
        restored=kind.backup(run),
    )
    with transaction.atomic():
        claim.guard()
        for commit in commits:
            save_commit(run, commit)
            _finalize_files(run, commit)
        release_units(run, UnitState.PENDING, "")
        watch_row_counts(run, report)
        state = loaded_state(report)
        end_claimed(claim, run, state, save_report(run, report), None)
        resolve_alerts(run, state)


def _finalize_files(run: Run, commit: LoadCommit) -> None:
    """Set the state of files from the commit marker alone. The run may have undone loads."""
    restore, undo = commit.record.restore, run_kind_of(run).undo(run)
    if undo is not None:
        mark_deleted(run, commit.files_done, undo.reason)
    elif restore is None:
        finish_units(run, commit.files_done)
    else:
        undo_units(run, restore.undone, UNDONE)
        finish_units(run, restore.redone)
        mark_deleted(run, restore.deleted, DELETED)


def end_queued(run_id: UUID | str) -> None:
    """Cancel a queued run. If an earlier attempt may have committed, its targets are queried first. An approved run
    also releases its files and the runs that wait for it."""
    waiting = Run.objects.filter(pk=run_id, state__in=CLAIMABLE, cancel_requested=True)
    ended = {"state": State.CANCELLED, "ended_at": Now(), **error_fields(cancelled())}
    with transaction.atomic():
        if waiting.filter(may_have_committed=False).exclude(state=State.APPROVED).update(**ended):
            store_sort_values(UUID(str(run_id)))
            run_ended(Run.objects.get(pk=run_id), State.CANCELLED)
            return
    if waiting.update(due_at=Now()) and (claim := claim_run(str(run_id), process_name())):
        run = Run.objects.select_related("pipeline", "version", "workspace").get(pk=run_id)
        finalize(claim, run, State.CANCELLED, cancelled())


def cancelled() -> Cancelled:
    return Cancelled("run.cancelled", "The run was cancelled by a person.")
