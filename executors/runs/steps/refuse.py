"""Rows that the target's table would refuse: taken out of staging, and counted like those of one more task."""

from __future__ import annotations

from dataclasses import replace

from executors.model import PassResult, TaskCount
from executors.postgres.explain import explain
from executors.postgres.refused import refuse_rows
from executors.postgres.trial import refuse_tried
from executors.runs.state import LoadState
from executors.runs.steps.plan import load_plan


def refuse_unfit_rows(state: LoadState) -> LoadState:
    """Take out the rows of which it is known beforehand that the table refuses them."""
    refused = refuse_rows(state.load.connection, load_plan(state), state.target.on_type_mismatch)
    return with_task(state, refused) if refused is not None else state


def has_failed_to_load(state: LoadState) -> bool:
    return state.load_failure is not None


def refuse_failing_rows(state: LoadState) -> LoadState:
    """Take out the rows by which the load has failed. Raises that failure if it was not for any of them."""
    failure, plan = state.load_failure, load_plan(state)
    if failure is None:
        return state
    refused = refuse_tried(state.load.connection, plan, failure)
    if refused is None:
        explain(state.load.connection, plan, failure)
        raise failure
    return with_task(state, refused)


def with_task(state: LoadState, task: TaskCount) -> LoadState:
    """The state with what one more task has counted."""
    return replace(state, result=PassResult((*state.result.tasks, task)))
