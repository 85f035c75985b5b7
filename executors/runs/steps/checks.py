"""The dataset checks on the staged rows."""

from __future__ import annotations

from dataclasses import replace

from executors.postgres.checks import Staged
from executors.runs.state import LoadState
from executors.target_checks import stop_on_broken


def run_checks(state: LoadState) -> LoadState:
    return replace(state, check_reports=tuple(state.load.checks.run(staged_rows(state))))


def stop_on_broken_checks(state: LoadState) -> LoadState:
    stop_on_broken(state.check_reports)
    return state


def staged_rows(state: LoadState) -> Staged:
    """The rows that were staged, as checks look at them."""
    load = state.load
    return load.checks.look_at(load.tables, load.fields, load.dest, load.columns, state.result.winners)
