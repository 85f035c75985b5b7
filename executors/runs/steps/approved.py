"""Loads rows that an earlier attempt staged, that were held, and that a person approved."""

from __future__ import annotations

from dataclasses import replace

from executors.destinations.base import Prepared
from executors.holding import StagedLoad
from executors.model import Destination
from executors.reading import Origin, nothing_to_read
from executors.runs.state import LoadState, RunContext
from executors.runs.steps.prepare import new_load
from executors.runs.steps.rules import with_rules
from executors.runs.target_run import TargetRun


def approved_load(context: RunContext, target: TargetRun, staged: StagedLoad) -> LoadState:
    """Return the state of the held load. Nothing is read."""
    reading = nothing_to_read(_origins_of(staged), staged.units, staged.records)
    dest = Destination(target.path.target.schema_, target.path.target.table, ())
    load = replace(
        new_load(context, target, Prepared(dest, staged.columns, reading, changes=staged.changes), staged.working),
        staged_in=staged.attempt,
        approved=staged,
    )
    state = LoadState(
        load,
        has_staging=True,
        rows_read=staged.records,
        result=staged.result,
        check_reports=staged.checks,
        skipped=staged.skipped,
    )
    return with_rules(state)


def _origins_of(staged: StagedLoad) -> list[Origin]:
    return [
        Origin(seq, name, sha256, source=source, state=staged.states.get(source))
        for seq, name, sha256, source in staged.origins
    ]


def require_as_staged(state: LoadState) -> LoadState:
    """Inspect the table again. Raises Transient `staging.lost` if the rows are gone or no longer fit it."""
    return state.load.handler.require_as_staged(state)
