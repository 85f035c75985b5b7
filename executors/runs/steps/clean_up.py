"""Cleans up staging and rejected rows when a load ends."""

from __future__ import annotations

from executors.commit_report import add_quarantined
from executors.errors import Failure, LeaseLost, Terminal
from executors.holding import Held
from executors.runs.state import LoadState
from executors.runs.steps.commit import ready_quarantine


def end_load(state: LoadState, error: BaseException | None) -> None:
    """A load that failed keeps its rejected rows; one that is held keeps its staging."""
    try:
        if isinstance(error, Failure) and not isinstance(error, LeaseLost | Held):
            state.load.report.checks += state.check_reports
            _keep_rejects(state)
    finally:
        if not isinstance(error, Held):
            _drop_staging(state)


def end_approved_load(state: LoadState, error: BaseException | None) -> None:
    """Staging stays unless the load has committed, or would only fail again: the next attempt loads it."""
    if isinstance(error, Terminal):
        _keep_rejects(state)
    if error is None or isinstance(error, Terminal):
        _drop_staging(state)


def end_columnless_load(state: LoadState, error: BaseException | None) -> None:
    """Nothing can be loaded, so that nothing but the rejected rows is of interest."""
    try:
        if isinstance(error, Failure) and not isinstance(error, LeaseLost):
            _keep_rejects(state)
    finally:
        _drop_staging(state)


def end_replay(state: LoadState, error: BaseException | None) -> None:
    """The rejected rows of a replay are where they were."""
    if isinstance(error, Failure) and not isinstance(error, LeaseLost | Held):
        state.load.report.checks += state.check_reports
    _drop_staging(state)


def end_look(state: LoadState, error: BaseException | None) -> None:
    """Drop everything that a preview or another run without a load staged."""
    state.load.report.checks += state.check_reports
    _drop_staging(state)


def _keep_rejects(state: LoadState) -> None:
    """The rejected rows of a load that failed, in a transaction of their own; why it failed stays the error."""
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
