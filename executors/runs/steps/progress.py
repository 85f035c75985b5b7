"""Logs the steps of a run: what it read, staged, checked and committed. Logs contain numbers and names, never row
values."""

from __future__ import annotations

from collections.abc import Sequence

from executors.load_record import LoadCommit
from executors.ports import Events
from executors.reading import Origin, Reading
from executors.runs.names import CHECK, LOAD, PASS
from executors.runs.state import LoadState, RunContext
from ir.nodes import Source
from ir.words import counted

NAMES_SHOWN = 5


def log_source(context: RunContext, source: Source, reading: Reading) -> None:
    """Log what the target will load, as far as it is known before the rows are read."""
    found = f" with {counted(reading.records, 'row')}" if reading.records is not None else ""
    context.ports.events.log("info", f"To load: {_named(reading.origins)}{found}.", source.id)


def _named(origins: Sequence[Origin]) -> str:
    names = ", ".join(origin.name for origin in origins[:NAMES_SHOWN])
    more = len(origins) - NAMES_SHOWN
    return f"{names} and {more:,} more" if more > 0 else names


def log_pass(state: LoadState) -> LoadState:
    """Log the results of the rows that were read."""
    staged, events = state.result.total("rows_staged"), state.load.context.ports.events
    text = f"Read {counted(state.rows_read, 'row')}: {staged:,} staged, {state.rows_rejected:,} rejected"
    if state.rows_exploded:
        text += f", {state.rows_exploded:,} added by explode"
    if state.rows_filtered:
        text += f", {state.rows_filtered:,} filtered"
    if state.rows_elsewhere:
        text += f", {state.rows_elsewhere:,} to other branches"
    if state.rows_grouped:
        text += f", {state.rows_grouped:,} grouped into them"
    events.log("info", f"{text}.", state.target.id)
    events.step_rows(PASS.name, state.rows_read)
    return state


def log_checks(state: LoadState) -> LoadState:
    """Log which dataset checks passed."""
    reports, events = state.check_reports, state.load.context.ports.events
    if reports:
        failed = [report.check for report in reports if not report.ok]
        text = f"Checks: {len(reports) - len(failed):,} of {len(reports):,} passed"
        events.log("warning" if failed else "info", f"{text}{_failed(failed)}.", state.target.id)
        events.step_rows(CHECK.name, state.result.total("rows_staged"))
    return state


def _failed(checks: Sequence[str]) -> str:
    return f"; failed: {', '.join(dict.fromkeys(checks))}" if checks else ""


def log_commit(events: Events, commit: LoadCommit) -> None:
    """Log what the load transaction committed."""
    counts = commit.counts
    text = (
        f"Committed to {commit.table.schema}.{commit.table.table}: {counts.inserted:,} inserted, {counts.updated:,} "
        f"updated, {counts.unchanged:,} unchanged"
    )
    if counts.deleted or counts.removed:
        text += f", {counts.deleted + counts.removed:,} deleted"
    if counts.quarantine_rows:
        text += f"; {counted(counts.quarantine_rows, 'row')} in quarantine ({', '.join(commit.reject_tables)})"
    events.log("info", f"{text}.", commit.node)
    events.step_rows(LOAD.name, counts.loaded)
