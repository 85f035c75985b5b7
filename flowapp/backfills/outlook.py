"""Describe in a sentence the chunks that the backfill of a document leads to, without asking the source."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from ir.backfill import MOST_CHUNKS, parse_window
from ir.cursor_ranges import Windows
from ir.cursor_values import axis_of
from ir.types import ColumnType
from ir.words import counted


def describe_chunks(backfill: Mapping[str, Any] | None, now: datetime | None = None) -> str:
    """Return a sentence such as `196 chunks of 30 days from 2010-01-01 until now, 4 at a time.`; "" without a backfill
    or if its window is invalid."""
    if backfill is None:
        return ""
    try:
        window = parse_window(backfill["window"]) if "window" in backfill else None
    except ValueError:
        return ""
    parallel = backfill.get("parallelism", 1)
    turns = f", {parallel} at a time" if isinstance(parallel, int) and parallel > 1 else ", one after the other"
    start = backfill.get("startFrom")
    number = _count(window, start, now or datetime.now(UTC)) if isinstance(window, timedelta) else None
    if number is not None and number > MOST_CHUNKS:
        return f"That is {counted(number, 'chunk')} until now, and {MOST_CHUNKS:,} are allowed: use a longer window."
    if number is not None and isinstance(window, timedelta):
        return f"{counted(number, 'chunk')} of {_length(window)} from {start} until now{turns}."
    since = f"from {start} on" if start is not None else "from the first row of the source on"
    return f"{_unit(window)}, {since}{turns}. The first run counts them."


def _count(window: timedelta, start: object, now: datetime) -> int | None:
    axis = axis_of(ColumnType.parse("timestamp"))
    if axis is None or not isinstance(start, str):
        return None
    try:
        first = axis.text(axis.position(start))
        return Windows(axis, window, cut=f"{now:%Y-%m-%d %H:%M:%S}", lowest=first, start=first).number
    except ValueError:
        return None


def _unit(window: timedelta | Decimal | None) -> str:
    if window is None:
        return "Chunks of a length that suits the source"
    if isinstance(window, timedelta):
        return f"One chunk for each {_length(window)}"
    return f"One chunk for each {window:,} values of the cursor"


def _length(window: timedelta) -> str:
    for seconds, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        number, rest = divmod(window.total_seconds(), seconds)
        if number and not rest:
            return counted(int(number), unit)
    return counted(int(window.total_seconds()), "second")
