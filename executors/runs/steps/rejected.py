"""Rows that were rejected before, on their way through the pipeline again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from executors.destinations.postgres.plan import load_plan
from executors.errors import Terminal
from executors.model import RunJob
from executors.postgres.client import translate
from executors.postgres.incremental_range import IncrementalRange, open_range
from executors.postgres.load import LoadFile, commit_load
from executors.postgres.meta import marker_of
from executors.postgres.names import TableName
from executors.postgres.quarantined import Owner
from executors.postgres.read_later import bounds_by_position, read_later
from executors.postgres.refusals import Refusal
from executors.postgres.refused import refuse_for
from executors.postgres.replay import ReplayCommit, RowOutcome, evaluate_rows, read_conflicts, taken_keys
from executors.runs.state import Load, LoadState, RejectedRows
from executors.runs.steps.refuse import with_task
from ir.connectors import CONNECTORS
from ir.load_modes import load_mode

MOST_RESULTS = 500
"""Rows whose result a check without a load tells one by one; all are counted."""


def rejected_of(load: Load) -> RejectedRows:
    if load.rejected is None:
        raise LookupError("this load is not one of rejected rows")
    return load.rejected


def owner_of(job: RunJob) -> Owner:
    return Owner(job.tenant, job.pipeline.id)


# --- rows that stay where they are --------------------------------------------------------------------------------


def reject_rows_read_later(state: LoadState) -> LoadState:
    """Keep out the rows that a later run of an incremental target has read again and not rejected."""
    load, rows = state.load, rejected_of(state.load)
    if not rows.keeps_watermark or CONNECTORS[load.path.source.connector].keeps_order:
        return state
    rows_range, choice, owner = _range_to_leave(load), rows.choice, owner_of(load.context.job)
    quarantine = {*choice.tables, *map(TableName.parse, load.quarantine.values())}
    with translate(rows.target.id):
        bounds = bounds_by_position(load.connection, owner, rows.target.id, rows_range, choice.by_table, quarantine)
        refusal = read_later(load.connection, load_plan(state), rows_range, bounds)
    return _reject(state, [refusal]) if bounds else state


def find_conflicts(state: LoadState) -> LoadState:
    """Note the rows of the table whose keys the rejected rows have."""
    if not load_mode(state.target.load_mode).needs_key:
        return state
    with translate(state.target.id):
        return replace(state, conflicts=read_conflicts(state.load.connection, load_plan(state)))


def reject_taken_keys(state: LoadState) -> LoadState:
    """Keep out the rows whose keys the table has, unless a person has chosen that they replace its rows."""
    if not load_mode(state.target.load_mode).needs_key:
        return state
    with translate(state.target.id):
        refusals = taken_keys(state.load.connection, load_plan(state), rejected_of(state.load).may_replace)
    return _reject(state, refusals)


def _reject(state: LoadState, refusals: list[Refusal]) -> LoadState:
    return with_task(state, refuse_for(state.load.connection, load_plan(state), refusals))


def _range_to_leave(load: Load) -> IncrementalRange:
    """Where the next load of an incremental target begins, which a replay must not move."""
    job, target = load.context.job, rejected_of(load).target
    rows_range = open_range(load.connection, job.tenant, job.pipeline.id, target)
    if rows_range is None or rows_range.stored is None:
        raise Terminal(
            "replay.no_watermark",
            f"{target.schema_}.{target.table} has no watermark yet: the next load would begin at the highest of these "
            "rows, and miss those below.",
            node=target.id,
            hint="Set the watermark of this target first, then replay the rows.",
        )
    return rows_range


# --- their load ---------------------------------------------------------------------------------------------------


def open_window_to_leave(state: LoadState) -> LoadState:
    """Note the watermark before anything else is done."""
    keeps = rejected_of(state.load).keeps_watermark
    return replace(state, window_to_leave=_range_to_leave(state.load) if keeps else None)


def load_rejected_rows(state: LoadState) -> LoadState:
    """Load the rows and note in their quarantine what became of them, in one transaction."""
    load, rows, plan = state.load, rejected_of(state.load), load_plan(state)
    plan = replace(
        plan,
        after_load=_replay_commit(state),
        may_replace=rows.may_replace,
        files=_files_of(rows),
        findings=replace(plan.findings, reject_tables=tuple(table.written for table in rows.choice.tables)),
    )
    commit_load(load.connection, plan)
    return replace(state, commit=marker_of(load.connection, load.ref))


def _replay_commit(state: LoadState) -> ReplayCommit:
    rows = rejected_of(state.load)
    choice = rows.choice
    return ReplayCommit(
        owner=owner_of(state.load.context.job),
        rows={place: chosen.row for place, chosen in choice.rows.items()},
        tables=tuple(choice.tables),
        excluded=choice.excluded,
        by=rows.ref.by,
        reason=rows.ref.reason,
        rows_range=state.window_to_leave,
        repeats=choice.repeats,
    )


def _files_of(rows: RejectedRows) -> list[LoadFile]:
    """The files that the rows came from; a table that keeps their hashes gets the real ones."""
    hashes = rows.ref.hashes
    return [
        LoadFile(seq, name, hashes.get((run, name), ""), is_unit=False)
        for (run, name), seq in rows.choice.origins.items()
    ]


# --- what would become of them ------------------------------------------------------------------------------------


def report_results(state: LoadState) -> LoadState:
    """Count what a replay would do with each row, and list some of them."""
    load, report = state.load, state.load.report
    with translate(load.target.id):
        outcomes = evaluate_rows(load.connection, load_plan(state), rejected_of(load).choice.rows)
    for outcome in outcomes.values():
        report.row_counts[outcome.result] = report.row_counts.get(outcome.result, 0) + 1
    places = sorted(outcomes, key=lambda place: (outcomes[place].result == "loaded", place))
    report.row_results = [_row_result(state, place, outcomes[place]) for place in places[:MOST_RESULTS]]
    return state


def _row_result(state: LoadState, place: tuple[int, int], outcome: RowOutcome) -> dict[str, Any]:
    row = rejected_of(state.load).choice.rows[place].row
    return {
        "key": row.name,
        "id": row.id,
        "sourceFile": row.source_file,
        "sourceRecord": row.source_record,
        "result": outcome.result,
        "rules": list(outcome.rules),
        "conflict": state.conflicts.get(place),
    }
