"""Events of runs for the apps above, called in the transaction that records them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from executors.api import LoadCommit
from flowapp.hook import Hook
from flowapp.runs.models import RuleCount, Run

load_committed: Hook[[Run, LoadCommit], None] = Hook()
"""A load transaction is known to have committed; it is told again when more is known of it."""
rows_counted: Hook[[Run, Mapping[str, int]], None] = Hook()
"""A run over rejected rows has counted what became of them."""
rules_counted: Hook[[Run, Sequence[RuleCount], Sequence[RuleCount]], None] = Hook()
"""The counts of a run's rules have changed, from the first ones to the second ones."""
