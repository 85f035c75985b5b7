"""Decide how an attempt ends: loaded, retried, requeued or finalized. Every write requires the claim."""

from __future__ import annotations

import logging

from django.db import transaction
from django.db.models import F

from executors.api import Held
from executors.errors import Cancelled, LeaseLost, TargetBusy, Terminal, Transient, WaitForFiles
from executors.report import RunReport
from flowapp.alerts.services import raise_alert
from flowapp.runs.attempts import is_transient, with_failure
from flowapp.runs.ends import end_claimed, loaded_state, park, resolve_alerts
from flowapp.runs.events import attempt_failed
from flowapp.runs.finalizing import finalize
from flowapp.runs.holds import hold_run
from flowapp.runs.leases import Claim, WorkerStopping
from flowapp.runs.load_units.models import UnitState
from flowapp.runs.load_units.services import release_units
from flowapp.runs.models import Run, State
from flowapp.runs.reports import save_report
from flowapp.runs.requeueing import backoff, requeue
from flowapp.runs.row_count_anomalies import watch_row_counts
from flowapp.runs.run_kinds import run_kind_of
from ir.errors import FlowError

logger = logging.getLogger(__name__)
BUSY_SECONDS = 5.0
LOSSES_FORGIVEN = 1
LOSSES_FORGIVEN_IN_A_ROW = 5
"""Of runs that never end by themselves. Their losses in a row are counted; most come from other runs of the worker."""


def end_well(claim: Claim, run: Run, report: RunReport) -> None:
    """Finish an attempt whose engine succeeded. Raises LeaseLost."""
    with transaction.atomic():
        claim.guard()
        if run_kind_of(run).after_success(run, report):
            park(claim, save_report(run, report))
            return
        watch_row_counts(run, report)
        state = loaded_state(report)
        end_claimed(claim, run, state, save_report(run, report), None)
        # The engine has reported what it loaded; an earlier attempt may have claimed files that no longer exist.
        release_units(run, UnitState.PENDING, "")
        resolve_alerts(run, state)


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
        error = _fence_ahead(error) if error.node else _out_of_reach()
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


def _keep_report(claim: Claim, run: Run, error: FlowError) -> None:
    """Store what the engine reported before it failed."""
    report = getattr(error, "report", None)
    if report is not None:
        claim.held().update(**save_report(run, report))


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


def _out_of_reach() -> Transient:
    """Handle a lease that has expired while the control database did not respond, and that nobody has taken over."""
    return Transient("control.unreachable", "The control database did not respond until the lease of the run expired.")


def is_loss(error: FlowError) -> bool:
    """Return whether the worker's own engine died, which does not count as a failure of the run."""
    return error.code == "spark.lost"


def end_lost(claim: Claim, run: Run, error: FlowError) -> None:
    """Handle a vanished worker or a dead engine: the run is requeued, regardless of `maxAttempts`, but not often."""
    if run.losses < (LOSSES_FORGIVEN_IN_A_ROW if run_kind_of(run).repeats else LOSSES_FORGIVEN):
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
        f"{run.losses + 1} workers stopped during this run. The last one: {error.message}",
        hint="The run may need more memory than the workers have. See their logs.",
    )
    finalize(claim, run, State.FAILED, twice)


def _outcome_of(error: Cancelled) -> State:
    """Return the final state. A run that exceeds its time limit has failed; it was not cancelled."""
    return State.FAILED if error.code == "run.time_limit" else State.CANCELLED
