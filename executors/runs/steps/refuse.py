"""Removes rows that the target would refuse from staging, and counts them like the rows of an additional task."""

from __future__ import annotations

from dataclasses import replace

from executors.model import TaskCount
from executors.runs.state import LoadState


def refuse_staged_rows(state: LoadState) -> LoadState:
    """Remove staged rows that the target would certainly refuse."""
    refused = state.load.handler.refuse_rows(state)
    return with_task(state, refused) if refused is not None else state


def has_failed_to_load(state: LoadState) -> bool:
    return state.load_failure is not None


def refuse_failing_rows(state: LoadState) -> LoadState:
    """Remove the staged rows that made the load fail. Raises the original failure if no row caused it."""
    if state.load_failure is None:
        return state
    return with_task(state, state.load.handler.refuse_failing_rows(state, state.load_failure))


def with_task(state: LoadState, task: TaskCount) -> LoadState:
    """Return the state with the counts of an additional task."""
    return replace(state, result=replace(state.result, tasks=(*state.result.tasks, task)))
