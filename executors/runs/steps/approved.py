"""The load of rows that an earlier attempt has staged, that were held back, and that a person has approved."""

from __future__ import annotations

from dataclasses import replace

from executors.destination import refuse_unloadable
from executors.errors import Transient
from executors.holding import StagedLoad
from executors.model import Destination
from executors.postgres.plan import plan_stage_columns
from executors.postgres.staging import is_there, staging_tables
from executors.reading import Origin, nothing_to_read
from executors.runs.state import LoadState, RunContext
from executors.runs.steps.prepare import new_load
from executors.runs.steps.rules import with_rules
from executors.runs.steps.watermark import open_window_of, watermark_now
from executors.runs.target_run import TargetRun
from ir.nodes import Target


def approved_load(context: RunContext, target: TargetRun, staged: StagedLoad) -> LoadState:
    """The state of the load as it was held. Nothing is read."""
    reading = nothing_to_read([Origin(*origin) for origin in staged.origins], staged.units, staged.records)
    table = Destination(target.path.target.schema_, target.path.target.table, ()), staged.columns
    load = replace(
        new_load(context, target, reading, table, staged.working),
        staged_in=staged.attempt,
        tables=staging_tables(context.job.run_id, target.path.target.id, staged.attempt),
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


def require_as_staged(state: LoadState) -> LoadState:
    """Look at the table again. Raises Transient `staging.lost` if the rows are gone or no longer fit it."""
    load, staged = state.load, state.load.approved
    dest = refuse_unloadable(load.connection, load.target)
    if dest is None or staged is None or not is_there(load.connection, load.tables):
        raise _lost(load.target, "The staged rows no longer exist.")
    if plan_stage_columns(load.target, staged.working, dest) != staged.columns:
        raise _lost(load.target, "The table's columns have changed.")
    rows_range = open_window_of(load.context, load.connection, load.target)
    if watermark_now(rows_range) != staged.watermark:
        raise _lost(load.target, "The watermark has changed since.")
    return replace(state, load=replace(load, dest=dest), rows_range=rows_range)


def _lost(target: Target, why: str) -> Transient:
    return Transient("staging.lost", why, node=target.id, hint="The source is read again.")
