"""Where the load of an incremental target begins. All other targets have no window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from executors.model import RunWarning
from executors.postgres.ddl import Conn
from executors.postgres.set_aside import set_aside
from executors.postgres.ties import have_columns_changed
from executors.postgres.windows import Window, first_window, open_window
from executors.pushdown import source_column
from executors.reading import Bound, Reading
from executors.runs.state import LoadState, RunContext
from executors.runs.steps.plan import load_plan
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.pipeline import Path


def open_window_of(context: RunContext, connection: Conn, target: Target) -> Window | None:
    """The window of a load; None without a watermark, and while the table does not exist. To be opened before a missing
    table is made, which would hide that it is missing."""
    if not load_mode(target.load_mode).keeps_mark:
        return None
    return open_window(connection, context.job.tenant, context.job.pipeline.id, target)


def narrow_reading(reading: Reading, window: Window | None, path: Path) -> Reading:
    """The reading without rows that the load would skip, as far as the source can leave them out."""
    if reading.narrow is None or window is None or window.bound in (None, window.type.below_all):
        return reading
    column = source_column(path, window.column)
    return reading.narrow(Bound(column, window.type, str(window.bound))) if column else reading


def follows_watermark(state: LoadState) -> bool:
    return load_mode(state.target.load_mode).keeps_mark


def skip_behind_watermark(state: LoadState) -> LoadState:
    """Take the staged rows that are behind the watermark out of staging."""
    load, window = state.load, _window_of(state)
    state = replace(state, window=window)
    plan = load_plan(state)
    if have_columns_changed(plan, window):
        load.context.ports.events.log("warning", _COLUMNS_CHANGED, load.target.id)
    skipped = set_aside(load.connection, plan, window)
    if skipped.rows:
        text = f"{skipped.below_bound:,} below the bound, {skipped.read_again:,} at or above it that were"
        load.context.log(f"Rows behind the mark: {text} loaded before.", load.target)
    return replace(state, skipped=skipped)


def _window_of(state: LoadState) -> Window:
    """The window as it was opened before; else that of the table that was made meanwhile or that stands in for it."""
    load, job = state.load, state.load.context.job
    opened = state.window or open_window_of(load.context, load.connection, load.target)
    return opened or first_window(job.tenant, job.pipeline.id, load.target, load.dest)


def watermark_now(window: Window | None) -> tuple[int, int] | None:
    """What tells whether the watermark is the one that rows were skipped for."""
    stored = window and window.stored
    return (stored.id, stored.revision) if stored else None


def warnings_of(window: Window | None, target: Target) -> list[RunWarning]:
    """What may make the load take too many rows, or too few."""
    if window is None:
        return []
    return [RunWarning(code, target.id, text) for code, text in _doubts(window)]


def _doubts(window: Window) -> Iterator[tuple[str, str]]:
    if window.may_miss_rows:
        yield (
            "watermark.rows_may_be_hidden",
            f"Row security is active on {window.key.table} for the connection's user: rows that it may not see are "
            "neither counted for the mark nor known as loaded.",
        )
    if window.is_ahead:
        yield (
            "watermark.ahead_of_clock",
            f"The watermark of {window.key.table} is later than the clock of its database: rows before it are left out "
            "until then. Set it back if that is wrong.",
        )


_COLUMNS_CHANGED = (
    "The columns of the rows are others than those hashed at the mark: which rows at or above it are loaded already is "
    "told from what the table holds."
)
