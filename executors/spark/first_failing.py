"""Finds the first row for which an expression failed, because Spark does not return it.

After a failure, and only then, the source is read again in smaller and smaller parts. The results are discarded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from executors.errors import ExpressionFailed, Terminal, Transient
from executors.formats.batches import take_trailers
from executors.reading import Part
from executors.spark.compiled import Expression
from executors.spark.errors import translate
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.reader import ReadTask, group_parts
from executors.spark.session import RunSession
from executors.validation import FILE, RECORD

PARTS_AT_ONCE = 16
FIRST_ROWS = 16
"""The number of rows of a part that are read first. Each next read is larger by this factor, so that an early failing
row is found quickly."""
SECONDS = 60
"""The time limit. In a large source, a failing row far from the start is not found."""

Frames = Callable[[DataFrame, ReadTask], DataFrame]
"""Makes a frame from the numbers of a reader's groups: packed batches, and beside them the results of the expressions
that depend on one row only."""


class _GaveUp(Exception):
    """The time limit is reached."""


@dataclass(slots=True)
class FirstFailing:
    """`reader` and `frames` are those of the job in which an expression failed; `names` are the names of the files by
    number."""

    session: RunSession
    reader: ReadTask
    frames: Frames
    node: str
    expressions: Sequence[Expression]
    names: Mapping[int, str]
    _until: float = 0

    def find(self) -> tuple[ExpressionFailed, ReadTask] | None:
        """Return the failure of the first row, with its position, and the task that reads only that row; None if it is
        not found.

        Raises Cancelled if the run is interrupted.
        """
        self._until = time.monotonic() + SECONDS
        self.session.check()
        with suppress(_GaveUp, Transient, Terminal):
            return self._find()
        return None

    def locate(self, failure: ExpressionFailed) -> ExpressionFailed:
        """Return the failure of the first row, or `failure` if that row is not found. Raises Cancelled if the run is
        interrupted."""
        found = self.find()
        return found[0] if found else failure

    def _find(self) -> tuple[ExpressionFailed, ReadTask] | None:
        parts = [part for group in self.reader.groups for part in group.items()]
        *others, last = (parts[cut : cut + PARTS_AT_ONCE] for cut in range(0, len(parts), PARTS_AT_ONCE))
        some = next(filter(self._failure_in, others), last)
        while len(some) > 1:
            half = some[: len(some) // 2]
            some = half if self._failure_in(half) else some[len(half) :]
        return self._find_in(some)

    def _find_in(self, part: Sequence[Part]) -> tuple[ExpressionFailed, ReadTask] | None:
        first, end = 0, FIRST_ROWS
        while not self._failure_in(part, first, end):
            first, end = end, end * FIRST_ROWS
        while end - first > 1:
            middle = (first + end) // 2
            first, end = (first, middle) if self._failure_in(part, first, middle) else (middle, end)
        # If a source returns its rows in a different order each time, this can be any row.
        row = _SomeRows.of(self.reader, part, first, end)
        failure = self._failure_in(part, first, end)
        return (self._with_position(failure, row), row) if failure else None

    def _failure_in(self, parts: Sequence[Part], first: int = 0, end: int | None = None) -> ExpressionFailed | None:
        """Return the failure of an expression for one of these rows; None if no expression fails."""
        if time.monotonic() > self._until:
            raise _GaveUp
        self.session.check()
        reader = _SomeRows.of(self.reader, parts, first, end)
        try:
            with translate(self.node, self.expressions):
                frame = self.frames(frame_of_numbers(self.session.start(), len(reader.groups)), reader)
                run_job(_computed(frame))
        except ExpressionFailed as failure:
            return failure
        return None

    def _with_position(self, failure: ExpressionFailed, row: ReadTask) -> ExpressionFailed:
        with translate(self.node):
            (at,) = run_job(
                map_task(frame_of_numbers(self.session.start(), 1), _PositionsTask(row), "file int, record long")
            )
        position = f"{self.names[at['file']]} record {at['record']}"
        text = f"{failure.message} The first failing row is {position}."
        placed = ExpressionFailed(failure.code, text, node=failure.node, hint=failure.hint)
        placed.column, placed.why = failure.column, failure.why
        return placed


def _computed(frame: DataFrame) -> DataFrame:
    """Return a frame that has no rows, except with a probability of 2^-64, but computes all columns next to the packed
    batches. It has no Python task after it: workers take a second to restart after a failure."""
    every = F.xxhash64(*map(F.col, frame.columns[1:]))
    return frame.select(every.alias("hash")).where(F.col("hash") == 0)


@dataclass(frozen=True, slots=True)
class _SomeRows(ReadTask):
    """Reads the rows of each part from position `first` up to `end`, counted from 0."""

    first: int = 0
    end: int | None = None

    @classmethod
    def of(cls, reader: ReadTask, parts: Sequence[Part], first: int, end: int | None) -> _SomeRows:
        return cls(reader.reader, group_parts(parts, PARTS_AT_ONCE), reader.source, reader.programs, first, end)

    def read_group(self, number: int) -> Iterator[pa.RecordBatch]:
        at = 0
        for batch in ReadTask.read_group(self, number):
            rows, _ = take_trailers(batch)
            skipped = min(max(self.first - at, 0), rows.num_rows)
            left = rows.num_rows if self.end is None else max(self.end - at - skipped, 0)
            yield rows.slice(skipped, left)
            at += rows.num_rows
            if self.end is not None and at >= self.end:
                return


@dataclass(frozen=True, slots=True)
class _PositionsTask:
    """Returns file and record of the rows of a reader."""

    reader: ReadTask

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.reader(numbers):
            yield pa.RecordBatch.from_arrays([batch.column(FILE), batch.column(RECORD)], ["file", "record"])
