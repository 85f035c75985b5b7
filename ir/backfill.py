"""Backfills: how a pipeline loads the history of its source in chunks before it follows new rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from ir.annotations import JsonScalar
from ir.base import Spec, Text
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.durations import parse_duration
from ir.pointers import Pointer

CursorKind = Literal["monotonic", "partitioned-monotonic", "snapshot-id", "opaque-token"]
"""How a source orders its rows: by a column whose values grow, by one that grows within each partition, by versions of
the whole, or only by tokens that it hands out page by page."""

MOST_CHUNKS = 10_000
MOST_PARALLEL = 64

_RATE = re.compile(r"([1-9][0-9]{0,6})/(sec|min|hour)")
_SECONDS = {"sec": 1, "min": 60, "hour": 3600}


class Rate(NamedTuple):
    """At most so many requests in `seconds` seconds."""

    requests: int
    seconds: int


def parse_rate(text: str) -> Rate:
    """Parse a rate such as `60/min`; raises ValueError."""
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a rate such as 5/sec, 60/min or 1000/hour")
    return Rate(int(match[1]), _SECONDS[match[2]])


@dataclass(frozen=True, slots=True)
class BackfillHint:
    """What a connector declares about backfills: the kind of its cursors, the columns that partition its rows, the
    duration of a chunk if its cursor is a time, and the rate of requests that its sources tolerate. `partitions` says
    whether a document can name other columns by which chunks are divided further."""

    cursor_kind: CursorKind
    partition_keys: tuple[str, ...] = ()
    natural_window: str | None = None
    rate_budget: str | None = None
    partitions: bool = False

    @property
    def is_parallel(self) -> bool:
        """Whether chunks can be read at the same time."""
        return self.cursor_kind in ("monotonic", "partitioned-monotonic")


class Backfill(Spec):
    """Loads the history of the source in chunks, each committed on its own, before scheduled runs load what is new."""

    column: Text | None = Field(
        None,
        title="Cursor column",
        description="The column of the source by whose values the history is divided. Without it, the watermark column "
        "of the target.",
        examples=["created_at"],
    )
    partition_by: Annotated[list[Text], Field(min_length=1, max_length=3)] | None = Field(
        None,
        title="Partition by",
        description="Columns of the source whose values divide the rows further: one chunk for each of their values "
        "and each window.",
        examples=[["repo"]],
        json_schema_extra={"advanced": True},
    )
    window: Annotated[str | int | float, JsonScalar(("string", "number"))] | None = Field(
        None,
        title="Window",
        description="The range of one chunk: a duration such as 30d, or a number if the cursor is a number. Without "
        "it, what suits the source.",
        examples=["30d"],
    )
    parallelism: Annotated[int, Field(ge=1, le=MOST_PARALLEL)] | None = Field(
        None,
        title="Parallel chunks",
        description="How many chunks may be loaded at the same time. Without it, 1.",
    )
    rate_budget: Text | None = Field(
        None,
        title="Rate budget",
        description="The highest number of requests to the source, over all chunks: 5/sec, 60/min, 1000/hour.",
        examples=["60/min"],
        json_schema_extra={"advanced": True},
    )
    start_from: Annotated[str | int | float, JsonScalar(("string", "number"))] | None = Field(
        None,
        title="Start from",
        description="The lowest value of the cursor that is loaded. Without it, the lowest value of the source.",
        examples=["2020-01-01"],
    )
    max_chunks_per_tick: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        None,
        title="Chunks per scheduled time",
        description="How many chunks each time of the schedule starts. Without it, chunks start whenever others end.",
        json_schema_extra={"advanced": True},
    )
    destination_writes_per_sec: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        None,
        title="Rows per second",
        description="The highest number of rows per second that all chunks together write.",
        json_schema_extra={"advanced": True},
    )

    @property
    def rate(self) -> Rate | None:
        return parse_rate(self.rate_budget) if self.rate_budget is not None else None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from self._check_window(at / "window")
        if self.rate_budget is not None:
            try:
                parse_rate(self.rate_budget)
            except ValueError as error:
                yield diagnose("backfill.rate_malformed", at / "rateBudget", f"{error}.")
        seen: set[str] = set()
        for i, name in enumerate(self.partition_by or ()):
            if name in seen or name == self.column:
                message = f"The column {shown(name)} is named twice."
                yield diagnose("column.repeated", at / "partitionBy" / i, message)
            seen.add(name)

    def _check_window(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.window is None:
            return
        try:
            size = parse_window(self.window)
        except ValueError as error:
            yield diagnose("duration.malformed", at, f"{error}.")
            return
        if isinstance(size, Decimal) and not (size.is_finite() and size > 0):
            yield diagnose("value.out_of_range", at, f"{self.window} must be finite and above 0.")


def parse_window(written: str | float) -> timedelta | Decimal:
    """Parse the window of a document; raises ValueError for an invalid duration."""
    return parse_duration(written) if isinstance(written, str) else Decimal(str(written))
