"""Processes rows that were rejected before and pass through the pipeline again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from executors.rejected_rows import RowOutcome, RowPosition
from executors.runs.state import LoadState
from executors.runs.steps.refuse import with_task
from ir.connectors import CONNECTORS
from ir.load_modes import load_mode

MOST_RESULTS = 500
"""The maximum number of rows whose results a recheck lists; all are counted."""


def reject_rows_read_later(state: LoadState) -> LoadState:
    """Exclude rows that a later run of an incremental target has read again and not rejected."""
    load = state.load
    if not load.rejected_rows.keeps_watermark or CONNECTORS[load.path.source.connector].keeps_order:
        return state
    refused = load.handler.rejected_rows().refuse_read_later(state)
    return with_task(state, refused) if refused is not None else state


def find_conflicts(state: LoadState) -> LoadState:
    """Find the rows of the table with the keys of the rejected rows."""
    if not load_mode(state.target.load_mode).needs_key:
        return state
    return replace(state, conflicts=state.load.handler.rejected_rows().find_conflicts(state))


def reject_taken_keys(state: LoadState) -> LoadState:
    """Exclude rows whose keys exist in the table, unless a person has chosen that they replace its rows."""
    if not load_mode(state.target.load_mode).needs_key:
        return state
    return with_task(state, state.load.handler.rejected_rows().refuse_taken_keys(state))


def open_range_to_leave(state: LoadState) -> LoadState:
    """Record the watermark before any other work."""
    if not state.load.rejected_rows.keeps_watermark:
        return state
    return replace(state, range_to_leave=state.load.handler.rejected_rows().find_range_to_leave(state.load))


def load_rejected_rows(state: LoadState) -> LoadState:
    """Load the rows and record their results in quarantine, in one transaction."""
    return replace(state, commit=state.load.handler.rejected_rows().commit(state))


def report_results(state: LoadState) -> LoadState:
    """Count what a replay would do with each row, and list some of them."""
    report, outcomes = state.load.report, state.load.handler.rejected_rows().evaluate(state)
    for outcome in outcomes.values():
        report.row_counts[outcome.result] = report.row_counts.get(outcome.result, 0) + 1
    positions = sorted(outcomes, key=lambda position: (outcomes[position].result == "loaded", position))
    report.row_results = [_row_result(state, position, outcomes[position]) for position in positions[:MOST_RESULTS]]
    return state


def _row_result(state: LoadState, position: RowPosition, outcome: RowOutcome) -> dict[str, Any]:
    row = state.load.rejected_rows.choice.rows[position].row
    return {
        "key": row.name,
        "id": row.id,
        "sourceFile": row.source_file,
        "sourceRecord": row.source_record,
        "result": outcome.result,
        "rules": list(outcome.rules),
        "conflict": state.conflicts.get(position),
    }
