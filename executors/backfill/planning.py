"""Plans the chunks of a backfill from what its document, its source and its target say."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction

from executors.backfill.extents import Cursor, Extent, PartitionExtent
from executors.backfill.model import Chunk, ChunkPlan, ChunkRange
from executors.errors import Terminal
from executors.sources.base import SnapshotSource
from executors.widening import holds, keeps_text
from ir.backfill import MOST_CHUNKS, Backfill, BackfillHint, parse_window
from ir.cursor_ranges import Window, Windows
from ir.cursor_values import Axis, NumberAxis
from ir.durations import parse_duration
from ir.watermarks import Lag

ROWS_OF_CHUNK = 500_000
"""The number of rows at which chunks are aimed if neither the document nor the connector has a window."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a backfill is to load: by which column of the source, values up to which time, and whether rows with NULL
    there too. `lag` is how far below the mark the target reads again. A `range` is that of a rewind, which ends at the
    `bound` at the latest; without an end it ends there, or behind the highest value of the source. `type` is the type
    that the column must have, None for any."""

    spec: Backfill
    hint: BackfillHint
    column: str
    latest: datetime
    takes_nulls: bool
    lag: Lag | None = None
    type: str | None = None
    range: ChunkRange | None = None
    bound: str | None = None


def plan_chunks(source: SnapshotSource, wanted: Wanted) -> ChunkPlan:
    """Return the chunks of an open source. Raises Terminal `backfill.…`."""
    extent = source.find_extent(wanted.column, wanted.latest)
    cursor, axis = extent.cursor, extent.cursor.axis
    _require_type(cursor, wanted)
    start, cut, mark = _range(extent, axis, wanted)
    # A range has all partitions, so that the rows of one that the source no longer has are replaced too.
    partition_by = tuple(wanted.spec.partition_by or wanted.hint.partition_keys) if wanted.range is None else ()
    parts: Sequence[PartitionExtent] = ()
    if cut is not None:
        parts = [PartitionExtent({}, extent.lowest)]
        if partition_by:
            parts = source.find_partitions(cursor, partition_by, start, cut, MOST_CHUNKS + 1) or parts
    chunks = tuple(_chunks(extent, axis, wanted, parts, start, cut))
    return ChunkPlan(
        "partitioned-monotonic" if partition_by else "monotonic",
        wanted.column,
        cursor.type,
        cut,
        mark,
        chunks,
        wanted.spec.parallelism or 1,
        extent.estimated_rows,
        str(cursor.kind),
        extent.highest is None,
        extent.has_nulls and not wanted.takes_nulls,
    )


def _require_type(cursor: Cursor, wanted: Wanted) -> None:
    """Refuse a target that would round values of the cursor: its watermark could then pass rows that are not loaded.
    A wider type may write the same texts."""
    if wanted.type is None or wanted.type == cursor.type:
        return
    if not (holds(wanted.type, cursor.type) and keeps_text(cursor.type, wanted.type)):
        raise Terminal(
            "backfill.type_differs",
            f"{cursor.column!r} is {cursor.type} in the source, and {wanted.type} in the target.",
            hint="Declare the column of the target with the type of the source, or load the table without backfill.",
        )


def _range(extent: Extent, axis: Axis, wanted: Wanted) -> tuple[str | None, str | None, str | None]:
    """Return the lowest value to load, the cut, below which chunks load, and the mark; no cut if there is nothing to
    load."""
    start = _value(axis, wanted.spec.start_from, "startFrom")
    if wanted.range is not None:
        return (*_ends(extent, axis, wanted, wanted.range, start), None)
    if extent.highest is None:
        return start, None, None
    if start is not None and axis.position(start) > axis.position(extent.highest):
        raise Terminal(
            "backfill.start_after_end",
            f"startFrom is {start}, and the highest value of {wanted.column!r} is {extent.highest}: no row would be "
            "loaded.",
            hint="Correct startFrom.",
        )
    # Values may be finer than those of the target, so that the mark is rounded down.
    mark = axis.text(axis.position(extent.highest))
    cut = axis.minus(mark, wanted.lag)
    if start is None or axis.position(start) < axis.position(cut):
        return start, cut, mark
    # The target must not go back behind the start, so its mark is as far above it as the lag is long.
    lag = axis.step(wanted.lag) if wanted.lag is not None else 0
    return start, start, axis.text(axis.position(start) + lag)


def _ends(
    extent: Extent, axis: Axis, wanted: Wanted, range_: ChunkRange, start: str | None
) -> tuple[str | None, str | None]:
    """Return the ends of a rewind. A source without rows has a range too, whose rows the target may have."""
    lower, upper = (_value(axis, text, "range") for text in (range_.lower, range_.upper))
    lower = lower if lower is not None else start  # the history begins at the start, also when it is loaded again
    ends = [text for text in (upper, wanted.bound) if text is not None]
    if not ends and extent.highest is not None:
        ends = [_above(axis, extent.highest)]  # without an end, the range has the highest value too
    end = min(ends, key=axis.position, default=None)
    if lower is None or end is None or axis.position(lower) < axis.position(end):
        return lower, end
    if end != wanted.bound:
        message = f"The range from {lower} to {end} is empty: the highest value of the source is {extent.highest}."
        hint = "Give a lower value for the beginning of the range."
    else:
        message = f"The range begins at {lower}, and the next load of the target reads everything from {end} on."
        hint = "Run the pipeline. To load a range again, give a lower value for its beginning."
    raise Terminal("backfill.range_empty", message, hint=hint)


def _above(axis: Axis, text: str) -> str:
    """Return a value above this one, or this one if it is the highest of its type."""
    above = math.floor(axis.position(text)) + Fraction(1)
    lowest = axis.lowest if isinstance(axis, NumberAxis) else None
    return axis.text(above) if lowest is None or above < -lowest else text


def _value(axis: Axis, written: str | float | None, field: str) -> str | None:
    if written is None:
        return None
    try:
        return axis.text(axis.position(str(written)))
    except ValueError as error:
        raise Terminal(
            "backfill.value_malformed", f"{field}: {error}.", hint="Write a value of the type of the cursor."
        ) from None


def _chunks(
    extent: Extent,
    axis: Axis,
    wanted: Wanted,
    parts: Sequence[PartitionExtent],
    start: str | None,
    cut: str | None,
) -> Iterator[Chunk]:
    ordinals = itertools.count(1)
    if cut is not None:
        all_windows = [(part, _windows(extent, axis, wanted, part.lowest, start, cut)) for part in parts]
        _require_few(all_windows, axis, cut)
        for part, windows in all_windows:
            # A range without values makes the table, which has the mark.
            for window in list(windows) or [Window(start, cut)]:
                yield Chunk(next(ordinals), wanted.column, window.lower, window.upper, part.values)
    if extent.has_nulls and wanted.takes_nulls and wanted.range is None:
        yield Chunk(next(ordinals), wanted.column, is_null=True)


def _windows(extent: Extent, axis: Axis, wanted: Wanted, lowest: str | None, start: str | None, cut: str) -> Windows:
    windows = Windows(axis, Decimal(1), cut, lowest, start)
    size = _size(extent, axis, wanted, windows)
    try:
        axis.step(size)
    except ValueError as error:
        raise Terminal(
            "backfill.window_mismatch", f"The window {wanted.spec.window} does not fit: {error}.", hint="Correct it."
        ) from None
    return replace(windows, size=size)


def _size(extent: Extent, axis: Axis, wanted: Wanted, windows: Windows) -> Lag:
    if wanted.spec.window is not None:
        return parse_window(wanted.spec.window)
    if axis.at(wanted.latest) is not None:
        return parse_duration(wanted.hint.natural_window or "30d")
    number = min(max(math.ceil((extent.estimated_rows or 0) / ROWS_OF_CHUNK), 1), 1000)
    return Decimal(max(math.ceil(windows.span / number), 1))


def _require_few(all_windows: Sequence[tuple[PartitionExtent, Windows]], axis: Axis, cut: str) -> None:
    number = sum(windows.number for _, windows in all_windows)
    if number <= MOST_CHUNKS:
        return
    partitions = len(all_windows)
    if partitions > MOST_CHUNKS:
        found = f"The source has more than {MOST_CHUNKS:,} partitions"
        raise Terminal(
            "backfill.too_many_chunks",
            f"{found}; a backfill has at most {MOST_CHUNKS:,} chunks.",
            hint="Remove partitionBy, or name columns with fewer values.",
        )
    span = max(windows.span for _, windows in all_windows)
    fits = math.ceil(span * partitions / (MOST_CHUNKS - partitions)) if partitions < MOST_CHUNKS else math.ceil(span)
    raise Terminal(
        "backfill.too_many_chunks",
        f"The backfill would have {number:,} chunks; {MOST_CHUNKS:,} are possible.",
        hint=f"Use a window of at least {_shown(axis, fits)}.",
    )


def _shown(axis: Axis, length: int) -> str:
    """Return a length as a document has it, rounded up to a whole unit."""
    unit = axis.step(timedelta(days=1)) if axis.grain is not None else None
    if unit is None:
        return str(length)
    if length >= unit:
        return f"{math.ceil(length / unit)}d"
    return f"{math.ceil(length / (unit / 86400))}s"
