"""The one transaction of a load, and the hooks before it."""

from __future__ import annotations

from dataclasses import replace

from executors.errors import Terminal
from executors.runs.state import LoadState
from executors.runs.steps.hold import reevaluation


def run_pre_hooks(state: LoadState) -> LoadState:
    state.load.hooks.before_load(state.node_counts)
    return state


def ready_quarantine(state: LoadState) -> LoadState:
    """Make the quarantine tables that this load has rows for."""
    state.load.handler.ready_quarantine(state)
    return state


def load_staged_rows(state: LoadState) -> LoadState:
    """Load. Where rows that the table refuses are to be rejected, a failure waits for those to be found."""
    try:
        return _commit(state, explains=state.target.on_type_mismatch == "abort")
    except Terminal as failure:
        if state.target.on_type_mismatch == "abort":
            raise
        return replace(state, load_failure=failure)


def load_remaining_rows(state: LoadState) -> LoadState:
    """Load the remaining rows, without those that made the load fail."""
    return _commit(state, explains=True)


def _commit(state: LoadState, *, explains: bool) -> LoadState:
    commit = state.load.handler.commit(state, explains=explains, reevaluation=reevaluation(state))
    return replace(state, commit=commit)
