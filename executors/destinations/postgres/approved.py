"""Checks whether rows that an earlier attempt staged can still be loaded."""

from __future__ import annotations

from dataclasses import replace

from executors.destinations.postgres.staging import tables_of
from executors.destinations.postgres.tables import refuse_unloadable
from executors.destinations.postgres.watermark import open_incremental_range, version_of
from executors.errors import Transient
from executors.postgres.staging import is_there
from executors.runs.state import LoadState
from executors.schema_changes import evolved, still_needed
from executors.stage_plan import plan_stage_columns
from ir.nodes import Target


def require_as_staged(state: LoadState) -> LoadState:
    """Inspect the table again. Raises Transient `staging.lost` if the staged rows are gone or no longer fit it."""
    load, staged = state.load, state.load.approved
    dest = refuse_unloadable(load.connection, load.target)
    if dest is None or staged is None or not is_there(load.connection, tables_of(load)):
        raise _lost(load.target, "The staged rows no longer exist.")
    dest = evolved(dest, still_needed(dest, staged.changes))
    if plan_stage_columns(load.target, staged.working, dest) != staged.columns:
        raise _lost(load.target, "The table's columns have changed.")
    rows_range = open_incremental_range(load.context, load.connection, load.target)
    if version_of(rows_range) != staged.watermark:
        raise _lost(load.target, "The watermark has changed since.")
    return replace(state, load=replace(load, dest=dest), rows_range=rows_range)


def _lost(target: Target, why: str) -> Transient:
    return Transient("staging.lost", why, node=target.id, hint="The source is read again.")
