"""The load transaction, and the hooks before it."""

from __future__ import annotations

from dataclasses import replace

from executors.errors import Terminal
from executors.runs.state import LoadState
from executors.runs.steps.hold import reevaluation


def run_pre_hooks(state: LoadState) -> LoadState:
    state.load.hooks.before_load(state.node_counts)
    return state


def ready_quarantine(state: LoadState) -> LoadState:
    """Create the quarantine tables for which this load has rows."""
    state.load.handler.ready_quarantine(state)
    return state


def load_staged_rows(state: LoadState) -> LoadState:
    """Load the staged rows. If rows refused by the table are to be rejected, keep the failure until these rows are
    found."""
    try:
        return _commit(state, explains=state.on_refused == "abort")
    except Terminal as failure:
        if state.on_refused == "abort":
            raise
        return replace(state, load_failure=failure)


def load_remaining_rows(state: LoadState) -> LoadState:
    """Load the remaining rows, without those that made the load fail."""
    return _commit(state, explains=True)


def _commit(state: LoadState, *, explains: bool) -> LoadState:
    commit = state.load.handler.commit(state, explains=explains, reevaluation=reevaluation(state))
    return replace(state, commit=commit)
