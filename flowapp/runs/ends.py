"""Record the end of a run, or that it is parked, together with what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from executors.report import RunReport
from flowapp.alerts.services import raise_alert, resolve_by
from flowapp.clock import Now
from flowapp.logs import redact
from flowapp.runs.broker import send_next_of
from flowapp.runs.events import run_ended
from flowapp.runs.leases import Claim
from flowapp.runs.models import LOADED, UNSUCCESSFUL, Run, State
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.sort_values import store_sort_values
from ir.errors import FlowError


def end_claimed(claim: Claim, run: Run, state: State, reported: Mapping[str, Any], error: FlowError | None) -> None:
    changed = claim.held().update(
        state=state,
        **reported,
        ended_at=Now(),
        lease_owner="",
        lease_until=None,
        step="",
        outcome="",
        may_have_committed=False,
        **error_fields(error),
    )
    if not changed:
        raise claim.lost()
    store_sort_values(run.pk)
    run_ended(run, state)
    transaction.on_commit(lambda: send_next_of(run.pipeline_id))


def park(claim: Claim, reported: Mapping[str, Any]) -> None:
    """Release the worker of a run whose children continue its work. Cancellations are not noticed by a lease any more
    but by `run_cancelled`."""
    if not claim.held().update(**reported, lease_owner="", lease_until=None, step="", may_have_committed=False):
        raise claim.lost()


def end_parked(run: Run, state: State, error: FlowError | None = None) -> bool:
    """End a parked run; return whether it was parked. The caller has stored its counts. Call it in a transaction."""
    parked = Run.objects.filter(pk=run.pk, state=State.RUNNING, lease_owner="", lease_until=None)
    if not parked.update(state=state, ended_at=Now(), **error_fields(error)):
        return False
    store_sort_values(run.pk)
    if state in LOADED:
        resolve_alerts(run, state)
    elif state in UNSUCCESSFUL and error is not None:
        alert_failed(run, error)
    run_ended(run, state)
    transaction.on_commit(lambda: send_next_of(run.pipeline_id))
    return True


def loaded_state(report: RunReport) -> State:
    if any(hook.stage == "postHook" and hook.state != "succeeded" for hook in report.hooks):
        return State.LOADED_HOOK_FAILED
    return State.SUCCEEDED_WITH_WARNINGS if report.warnings else State.SUCCEEDED


def resolve_alerts(run: Run, state: State) -> None:
    """Resolve what a loaded run ends, in the transaction of its end: after a crash in between, the alerts would stay
    open."""
    if run_kind_of(run).loads:
        resolve_by("run.succeeded", pipeline_id=run.pipeline_id, by=run)
        if state != State.LOADED_HOOK_FAILED:
            resolve_by("hooks.done", pipeline_id=run.pipeline_id)


def alert_failed(run: Run, error: FlowError, begins: str = "") -> None:
    """Raise the alert with the state change: a crash in between would leave a failed run without an alert."""
    raise_alert(
        "stream.stopped" if run_kind_of(run).repeats else "run.failed",
        "error",
        f"{begins}{error.code}: {redact(error.message)}",
        error.hint or "Open the run for details.",
        pipeline=run.pipeline,
        run=run,
    )


def error_fields(error: FlowError | None) -> dict[str, str]:
    if error is None:
        return {"error_code": "", "error_node": "", "error_message": "", "error_hint": "", "error_detail": ""}
    return {
        "error_code": error.code,
        "error_node": error.node or "",
        "error_message": redact(error.message),
        "error_hint": redact(error.hint),
        "error_detail": getattr(error, "encrypted_detail", ""),
    }
