"""Hooks of runs for apps above, called in the transaction that records an event."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from executors.api import LoadCommit
from flowapp.hook import Hook
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import RuleCount, Run, RunKind, State, Trigger
from ir.errors import FlowError

load_committed: Hook[[Run, LoadCommit], None] = Hook()
"""A load transaction has committed. Called again when more of it is known."""
attempt_failed: Hook[[Run, FlowError], None] = Hook()
"""An attempt has ended with an error; the run may be tried again."""
find_accepted_changes: Hook[[Run], Mapping[str, frozenset[str]]] = Hook()
"""Returns the IDs of the changes of columns that a person has accepted, by target."""
find_rejected_changes: Hook[[Run], Mapping[str, frozenset[str]]] = Hook()
"""Returns the IDs of the changes of columns that a person has rejected, by target."""
load_requested: Hook[[Pipeline, Trigger, bool], RunKind | None] = Hook()
"""A load of a pipeline is requested, perhaps of everything again. Returns the kind of run that takes its place, or
None. Raises FlowError to refuse it."""
schedules_due: Hook[[Collection[UUID]], Collection[UUID]] = Hook()
"""The schedules of these pipelines are due. Returns those for which the function has acted instead of a run."""
run_queued: Hook[[Run], None] = Hook()
"""A run has been created."""
run_started: Hook[[Run], None] = Hook()
"""An attempt begins, outside of any transaction. Raises FlowError to end it."""
run_cancelled: Hook[[Run], None] = Hook()
"""A person has requested the cancellation of a run."""
parked_run_idle: Hook[[Run], None] = Hook()
"""A process waits for a parked run, none of whose children it can execute."""
run_ended: Hook[[Run, State], None] = Hook()
"""A run has ended in this state. The run is as it was before its end."""
rows_counted: Hook[[Run, Mapping[str, int]], None] = Hook()
"""A run over rejected rows has counted the results of its rows."""
rules_counted: Hook[[Run, Sequence[RuleCount], Sequence[RuleCount]], None] = Hook()
"""The counts of a run's rules have changed from the first sequence to the second."""
