"""The ways an attempt ends: loaded, retried, requeued, or finalized. Every write requires the claim."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from executors.api import DELETED, UNDONE, Held, LoadCommit, report_commits
from executors.errors import Cancelled, LeaseLost, TargetBusy, Terminal, WaitForFiles
from executors.report import RunReport
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now, from_now
from flowapp.logs import redact
from flowapp.pipelines.documents import read_document
from flowapp.processes.heartbeats import process_name
from flowapp.runs.attempts import is_transient, with_failure
from flowapp.runs.broker import send_next_of
from flowapp.runs.events import attempt_failed, run_ended
from flowapp.runs.holds import approved_loads, drop_approved, hold_run
from flowapp.runs.leases import Claim, WorkerStopping, claim_run
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.services import finish_units, mark_deleted, release_units, undo_units
from flowapp.runs.models import CLAIMABLE, LOADED, UNSUCCESSFUL, Run, State
from flowapp.runs.reports import save_commit, save_report
from flowapp.runs.row_count_anomalies import watch_row_counts
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.sort_values import store_sort_values
from flowapp.runs.targets import fence_and_find, has_loaded_all, targets_of
from ir.errors import FlowError

logger = logging.getLogger(__name__)
BUSY_SECONDS = 5.0
DEFER_SECONDS = 10.0
LONGEST_BACKOFF = 3600.0
JITTER = 0.25
"""The maximum random part of a wait, as a share of the wait."""
LOSSES_FORGIVEN = 1


def end_well(claim: Claim, run: Run, report: RunReport) -> None:
    """Finish an attempt whose engine succeeded. Raises LeaseLost."""
    with transaction.atomic():
        claim.guard()
        if run_kind_of(run).after_success(run, report):
            _park(claim, save_report(run, report))
            return
        watch_row_counts(run, report)
        state = _loaded_state(report)
        _end(claim, run, state, save_report(run, report), None)
        # The engine has reported what it loaded; an earlier attempt may have claimed files that no longer exist.
        release_units(run, UnitState.PENDING, "")
        _resolve_alerts(run, state)


def _park(claim: Claim, reported: Mapping[str, Any]) -> None:
    """Release the worker of a run whose children continue its work. Cancellations are not noticed by a lease any more
    but by `run_cancelled`."""
    if not claim.held().update(**reported, lease_owner="", lease_until=None, step="", may_have_committed=False):
        raise claim.lost()


def end_parked(run: Run, state: State, error: FlowError | None = None) -> bool:
    """End a parked run; return whether it was parked. The caller has stored its counts. Call it in a transaction."""
    parked = Run.objects.filter(pk=run.pk, state=State.RUNNING, lease_owner="", lease_until=None)
    if not parked.update(state=state, ended_at=Now(), **_error_fields(error)):
        return False
    store_sort_values(run.pk)
    if state in LOADED:
        _resolve_alerts(run, state)
    elif state in UNSUCCESSFUL and error is not None:
        _alert_failed(run, error)
    run_ended(run, state)
    transaction.on_commit(lambda: send_next_of(run.pipeline_id))
    return True


def _resolve_alerts(run: Run, state: State) -> None:
    """Resolve what a loaded run ends, in the transaction of its end: after a crash in between, the alerts would stay
    open."""
    if run_kind_of(run).loads:
        resolve_by("run.succeeded", pipeline_id=run.pipeline_id, by=run)
        if state != State.LOADED_HOOK_FAILED:
            resolve_by("hooks.done", pipeline_id=run.pipeline_id)


def _loaded_state(report: RunReport) -> State:
    if any(hook.stage == "postHook" and hook.state != "succeeded" for hook in report.hooks):
        return State.LOADED_HOOK_FAILED
    return State.SUCCEEDED_WITH_WARNINGS if report.warnings else State.SUCCEEDED


def end_badly(claim: Claim, run: Run, error: FlowError) -> None:
    """Finish an attempt whose engine failed; the error decides what follows. If the lease is lost, nothing is written,
    because another process now ends the run."""
    try:
        _end_badly(claim, run, error)
    except LeaseLost as lost:
        logger.warning("%s", lost)


def _end_badly(claim: Claim, run: Run, error: FlowError) -> None:
    if isinstance(error, LeaseLost):
        if not claim.held().exists():
            logger.warning("%s", error)
            return
        error = _fence_ahead(error)
    run.refresh_from_db()
    with transaction.atomic():
        claim.guard()
        _keep_report(claim, run, error)
        attempt_failed(run, error)
    if isinstance(error, Held):
        hold_run(claim, run, error)
    elif isinstance(error, TargetBusy):
        requeue(claim, run, error, BUSY_SECONDS)
    elif isinstance(error, WorkerStopping):
        requeue(claim, run, error, 0)
    elif isinstance(error, WaitForFiles):
        requeue(claim, run, error, error.minutes * 60, state=State.WAITING, waits=F("waits") + 1)
    elif isinstance(error, Cancelled):
        finalize(claim, run, _outcome_of(error), error)
    elif is_loss(error):
        end_lost(claim, run, error)
    elif is_transient(error) and run.failures + 1 < run.max_attempts:
        seconds = backoff(run)
        requeue(
            claim, run, error, seconds, failures=F("failures") + 1, failed_attempts=with_failure(run, error, seconds)
        )
    else:
        finalize(claim, run, State.FAILED, error)


def _fence_ahead(error: LeaseLost) -> Terminal:
    """Handle a conflict: the target's fence says that another worker holds the run, the control database says that this
    one does."""
    return Terminal(
        "fence.ahead",
        "The target has a newer claim of this pipeline than the control database. Either the control database is an "
        "older state "
        "of the one that ran it last, or two installations share a workspace.",
        node=error.node,
        hint="Find out which installation is correct before you load again.",
    )


def is_loss(error: FlowError) -> bool:
    """Return whether the worker's own engine died, which does not count as a failure of the run."""
    return error.code == "spark.lost"


def end_lost(claim: Claim, run: Run, error: FlowError) -> None:
    """Handle a vanished worker or a dead engine: the run is requeued once, regardless of `maxAttempts`."""
    if run.losses < LOSSES_FORGIVEN:
        raise_alert(
            "worker.lost",
            "warning",
            f"A worker stopped while it ran {run.pipeline}. The run is retried.",
            "See the worker's log. The worker may have run out of memory.",
            pipeline=run.pipeline,
            run=run,
        )
        requeue(claim, run, error, 0, losses=F("losses") + 1, failed_attempts=with_failure(run, error, 0, counts=False))
        return
    twice = Terminal(
        "worker.lost_twice",
        f"Two workers stopped during this run. The last one: {error.message}",
        hint="The run may need more memory than the workers have. See their logs.",
    )
    finalize(claim, run, State.FAILED, twice)


def backoff(run: Run) -> float:
    """Return the seconds to wait after the failure that is being counted. A random part keeps runs that failed together
    from being tried again together."""
    retry = read_document(run.document).error_handling.retry
    growth = 2**run.failures if retry.backoff == "exponential" else 1
    seconds = min(retry.initial_seconds * growth, LONGEST_BACKOFF)
    return seconds * random.uniform(1, 1 + JITTER)  # noqa: S311 - nothing secret depends on it


def requeue(
    claim: Claim, run: Run, error: FlowError, seconds: float, *, state: State = State.QUEUED, **changes: Any
) -> None:
    """Requeue the run, due in the given seconds. An approved run stays ahead of all others."""
    # An inline run is not sent: its own process, or the next inline process, continues it.
    at_once = seconds <= 0 and run.sent_at is not None
    if approved_loads(run):
        state = State.APPROVED
    changes |= {
        "state": state,
        "due_at": from_now(seconds),
        "lease_owner": "",
        "lease_until": None,
        "step": "",
        "idle_since": Now(),
        **_error_fields(error),
    }
    if at_once:
        changes["sent_at"] = Now()
    with transaction.atomic():
        release_units(run, UnitState.PENDING, "")
        if not claim.held().update(**changes):
            raise claim.lost()
        transaction.on_commit(lambda: send_next_of(run.pipeline_id))


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
        _end(claim, run, state, {}, error)
        if state in UNSUCCESSFUL and kind.counts:
            _alert_failed(run, error, _partly(run, commits))
    drop_approved(run)


def _alert_failed(run: Run, error: FlowError, begins: str = "") -> None:
    """Raise the alert with the state change: a crash in between would leave a failed run without an alert."""
    raise_alert(
        "stream.stopped" if run_kind_of(run).repeats else "run.failed",
        "error",
        f"{begins}{error.code}: {redact(error.message)}",
        error.hint or "Open the run for details.",
        pipeline=run.pipeline,
        run=run,
    )


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
    changes = {"outcome": outcome, "lease_owner": "", "lease_until": from_now(DEFER_SECONDS), **_error_fields(error)}
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
        state = _loaded_state(report)
        _end(claim, run, state, save_report(run, report), None)
        _resolve_alerts(run, state)


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


def _end(claim: Claim, run: Run, state: State, reported: Mapping[str, Any], error: FlowError | None) -> None:
    changed = claim.held().update(
        state=state,
        **reported,
        ended_at=Now(),
        lease_owner="",
        lease_until=None,
        step="",
        outcome="",
        may_have_committed=False,
        **_error_fields(error),
    )
    if not changed:
        raise claim.lost()
    store_sort_values(run.pk)
    run_ended(run, state)
    transaction.on_commit(lambda: send_next_of(run.pipeline_id))


def _keep_report(claim: Claim, run: Run, error: FlowError) -> None:
    """Store what the engine reported before it failed."""
    report = getattr(error, "report", None)
    if report is not None:
        claim.held().update(**save_report(run, report))


def _error_fields(error: FlowError | None) -> dict[str, str]:
    if error is None:
        return {"error_code": "", "error_node": "", "error_message": "", "error_hint": "", "error_detail": ""}
    return {
        "error_code": error.code,
        "error_node": error.node or "",
        "error_message": redact(error.message),
        "error_hint": redact(error.hint),
        "error_detail": getattr(error, "encrypted_detail", ""),
    }


def _outcome_of(error: Cancelled) -> State:
    """Return the final state. A run that exceeds its time limit has failed; it was not cancelled."""
    return State.FAILED if error.code == "run.time_limit" else State.CANCELLED


def end_queued(run_id: UUID | str) -> None:
    """Cancel a queued run. If an earlier attempt may have committed, its targets are queried first. An approved run
    also releases its files and the runs that wait for it."""
    waiting = Run.objects.filter(pk=run_id, state__in=CLAIMABLE, cancel_requested=True)
    ended = {"state": State.CANCELLED, "ended_at": Now(), **_error_fields(cancelled())}
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
