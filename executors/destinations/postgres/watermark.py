"""The incremental range of a target: where its load begins. Other load modes have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from executors.destinations.postgres.plan import load_plan
from executors.postgres.boundary_rows import have_columns_changed
from executors.postgres.ddl import Conn
from executors.postgres.incremental_range import IncrementalRange, first_range, open_range
from executors.postgres.skipped_rows import skip_rows
from executors.pushdown import source_column
from executors.reading import Bound, Reading
from executors.report import RunWarning
from executors.runs.state import LoadState, RunContext
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.pipeline import Path


def open_incremental_range(context: RunContext, connection: Conn, target: Target) -> IncrementalRange | None:
    """Return the range of rows that a load includes; None without a watermark, or while the table does not exist.

    Call it before a missing table is created: afterwards nothing shows that it was missing.
    """
    if not load_mode(target.load_mode).keeps_watermark:
        return None
    return open_range(connection, context.job.tenant, context.job.pipeline.id, target)


def bound_reading(reading: Reading, rows_range: IncrementalRange | None, path: Path) -> Reading:
    """Return the reading without the rows that the load would skip, as far as the source can leave them out."""
    if reading.with_bound is None or rows_range is None or rows_range.bound in (None, rows_range.type.below_all):
        return reading
    column = source_column(path, rows_range.column)
    if not column:
        return reading
    bounded = reading.with_bound(Bound(column, rows_range.type, str(rows_range.bound)))
    return replace(bounded, references=reading.references)


def skip_below_watermark(state: LoadState) -> LoadState:
    """Remove the staged rows below the watermark from staging."""
    load, rows_range = state.load, _incremental_range(state)
    state = replace(state, rows_range=rows_range)
    plan = load_plan(state)
    if have_columns_changed(plan, rows_range):
        load.context.ports.events.log("warning", _COLUMNS_CHANGED, load.target.id)
    skipped = skip_rows(load.connection, plan, rows_range)
    if skipped.rows:
        text = f"{skipped.below_bound:,} below the bound, {skipped.read_again:,} at or above it that were"
        load.context.log(f"Rows below the watermark: {text} loaded before.", load.target)
    return replace(state, skipped=skipped)


def _incremental_range(state: LoadState) -> IncrementalRange:
    """Return the range that was opened before; otherwise the range of the table created since, or of its temporary
    table."""
    load, job = state.load, state.load.context.job
    opened: IncrementalRange | None = state.rows_range or open_incremental_range(
        load.context, load.connection, load.target
    )
    return opened or first_range(job.tenant, job.pipeline.id, load.target, load.dest)


def version_of(rows_range: IncrementalRange | None) -> tuple[int, int] | None:
    """Return a version of the watermark, to detect that it has changed since rows were skipped."""
    stored = rows_range and rows_range.stored
    return (stored.id, stored.revision) if stored else None


def warnings_of(rows_range: IncrementalRange | None, target: Target) -> list[RunWarning]:
    """Return warnings about conditions under which the load may take too many rows, or too few."""
    if rows_range is None:
        return []
    return list(_doubts(rows_range, target.id))


def _doubts(rows_range: IncrementalRange, node: str) -> Iterator[RunWarning]:
    if rows_range.may_miss_rows:
        yield RunWarning(
            "watermark.rows_may_be_hidden",
            node,
            f"Row security is active on {rows_range.key.table} for the connection's user: rows that it may not see are "
            "neither counted for the watermark nor known as loaded.",
        )
    if rows_range.is_ahead:
        yield RunWarning(
            "watermark.ahead_of_clock",
            node,
            f"The watermark of {rows_range.key.table} is later than the clock of its database: rows before it are "
            "skipped until then. Set it back if that is wrong.",
        )


_COLUMNS_CHANGED = (
    "The columns have changed since rows at the watermark were hashed. Flow compares with the rows of the table to "
    "find out which rows are loaded already."
)
