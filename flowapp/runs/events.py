"""Hooks of runs for apps above, called in the transaction that records an event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from executors.api import LoadCommit
from flowapp.hook import Hook
from flowapp.runs.models import RuleCount, Run
from ir.errors import FlowError

load_committed: Hook[[Run, LoadCommit], None] = Hook()
"""A load transaction has committed. Called again when more of it is known."""
attempt_failed: Hook[[Run, FlowError], None] = Hook()
"""An attempt has ended with an error; the run may be tried again."""
find_accepted_changes: Hook[[Run], Mapping[str, frozenset[str]]] = Hook()
"""Returns the IDs of the changes of columns that a person has accepted, by target."""
find_rejected_changes: Hook[[Run], Mapping[str, frozenset[str]]] = Hook()
"""Returns the IDs of the changes of columns that a person has rejected, by target."""
rows_counted: Hook[[Run, Mapping[str, int]], None] = Hook()
"""A run over rejected rows has counted the results of its rows."""
rules_counted: Hook[[Run, Sequence[RuleCount], Sequence[RuleCount]], None] = Hook()
"""The counts of a run's rules have changed from the first sequence to the second."""
