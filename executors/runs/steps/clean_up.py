"""Cleans up staging and rejected rows when a load ends."""

from __future__ import annotations

from executors.commit_report import add_quarantined
from executors.errors import Failure, LeaseLost, Terminal
from executors.holding import Held
from executors.runs.state import LoadState
from executors.runs.steps.commit import ready_quarantine


def end_load(state: LoadState, error: BaseException | None) -> None:
    """Store the rejected rows of a failed load, and leave the staging of a held load."""
    try:
        if isinstance(error, Failure) and not isinstance(error, LeaseLost | Held):
            state.load.report.checks += state.check_reports
            _keep_rejects(state)
    finally:
        if not isinstance(error, Held):
            _drop_staging(state)


def end_approved_load(state: LoadState, error: BaseException | None) -> None:
    """Drop staging if the load has committed or would fail again. Otherwise the next attempt loads the staged rows."""
    if isinstance(error, Terminal):
        _keep_rejects(state)
    if error is None or isinstance(error, Terminal):
        _drop_staging(state)


def end_columnless_load(state: LoadState, error: BaseException | None) -> None:
    """Store rejected rows after a failure and drop staging, which has no rows to load."""
    try:
        if isinstance(error, Failure) and not isinstance(error, LeaseLost):
            _keep_rejects(state)
    finally:
        _drop_staging(state)


def end_replay(state: LoadState, error: BaseException | None) -> None:
    """Drop staging. The rejected rows of a replay are still in their quarantine tables."""
    if isinstance(error, Failure) and not isinstance(error, LeaseLost | Held):
        state.load.report.checks += state.check_reports
    _drop_staging(state)


def end_read_only(state: LoadState, error: BaseException | None) -> None:
    """Drop everything that a preview or another run without a load staged."""
    state.load.report.checks += state.check_reports
    _drop_staging(state)


def _keep_rejects(state: LoadState) -> None:
    """Store the rejected rows of a failed load in a transaction of their own. The cause of the failure is still the
    reported error."""
    load = state.load
    if not state.has_staging:
        return
    try:
        ready_quarantine(state)
        rows, entries = load.handler.keep_rejects(state)
    except LeaseLost:
        raise
    except Failure as trouble:
        if not any(rule.violations for rule in state.rules):
            return
        load.context.ports.events.alert(
            "quarantine.unwritable",
            "error",
            f"The rows that a failed load rejected were not stored: {trouble.message}",
            "Correct the target's connection, then run the pipeline again.",
            load.target.id,
        )
    else:
        add_quarantined(load.report, rows, entries, load.quarantine.values())


def _drop_staging(state: LoadState) -> None:
    load = state.load
    if not state.has_staging:
        return
    try:
        load.handler.drop_staging(load)
    except Failure as trouble:
        message = f"Staging is left for the next sweep: {trouble.message}"
        load.context.ports.events.log("warning", message, load.target.id)
