"""Packed batches: they pass through the JVM unchanged, so that Spark decodes only the columns that expressions read.

The first row of every batch holds the serialized batch in one binary column. All rows hold the columns that expressions
read. No stage drops or adds rows, and stages that move rows restore the order by BATCH and ROW, so that the sink can
join computed columns to the original batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import Terminal
from executors.formats.closing import closed_after
from executors.spark.reader import ReadTask
from executors.validation import BAD, FILE, RECORD

if TYPE_CHECKING:
    from executors.spark.jobs import Task

PACKED_BATCH, UNREADABLE = "_flow_packed_batch", "_flow_unreadable"
"""The serialized batch, which is NULL in all rows but its first, and whether the record of the row could not be
read."""
BATCH, ROW = "_flow_batch", "_flow_row"
"""The number of a row's batch, and the position of the row in its batch."""


@dataclass(frozen=True, slots=True)
class PackTask:
    """Reads the splits of a task and packs each batch. The columns in `needed` are also separate columns of the frame,
    as are `positions`, some of BATCH, ROW, FILE and RECORD."""

    reader: ReadTask
    needed: tuple[str, ...]
    positions: tuple[str, ...] = ()

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for groups in numbers:
            for group in groups.column(0).to_pylist():
                yield from self._packed(group)

    def _packed(self, group: int) -> Iterator[pa.RecordBatch]:
        with closed_after(self.reader.read_group(group)) as batches:
            for number, batch in enumerate(batch for batch in batches if batch.num_rows):
                packed = pack(batch, self.needed)
                # The number depends only on group and batch: Spark may run the task again and read a part of its output
                # only.
                positions = _positions(batch, group << 32 | number)
                arrays = [*packed.columns, *(positions[name] for name in self.positions)]
                yield pa.RecordBatch.from_arrays(arrays, [*packed.schema.names, *self.positions])


@dataclass(frozen=True, slots=True)
class UnpackTask:
    """Unpacks batches, appends the `computed` columns and passes the rows to the sink. `require` raises an error for
    rows that are not allowed."""

    sink: Task
    computed: tuple[str, ...]
    require: Callable[[pa.RecordBatch], None] | None = None

    def __call__(self, frames: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.sink(self._required(unpack(frames, self.computed)))

    def _required(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with closed_after(batches):
            for batch in batches:
                if self.require is not None:
                    self.require(batch)
                yield batch


def pack(batch: pa.RecordBatch, needed: tuple[str, ...]) -> pa.RecordBatch:
    """Return a batch of at least one row as rows of packed batch, unreadable flag and needed columns."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    first = pa.array([out.getvalue().to_pybytes()], pa.binary())
    packed_batch = pa.concat_arrays([first, pa.nulls(batch.num_rows - 1, pa.binary())])
    arrays = [packed_batch, pc.is_valid(batch.column(BAD)), *(batch.column(name) for name in needed)]
    return pa.RecordBatch.from_arrays(arrays, [PACKED_BATCH, UNREADABLE, *needed])


def unpack(frames: Iterator[pa.RecordBatch], computed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Yield the original batches, each with its computed columns. A batch can arrive in several pieces, because the JVM
    splits it.

    Raises Terminal `rows.lost` if rows are missing or, if ROW is one of the columns, out of order.
    """
    batch, done = None, 0
    for frame in frames:
        for piece in _pieces(frame):
            if piece.column(PACKED_BATCH)[0].is_valid:
                _require_all(batch, done)
                batch, done = _open(piece.column(PACKED_BATCH)[0]), 0
            if batch is None or done + piece.num_rows > batch.num_rows:
                raise _rows_lost()
            if ROW in computed:
                _require_in_order(piece.column(ROW), done)
            own = batch.slice(done, piece.num_rows)
            done += piece.num_rows
            yield pa.RecordBatch.from_arrays(
                [*own.columns, *(piece.column(name) for name in computed)], [*own.schema.names, *computed]
            )
    _require_all(batch, done)


def _positions(batch: pa.RecordBatch, number: int) -> dict[str, pa.Array]:
    return {
        BATCH: pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows),
        ROW: pa.array(np.arange(batch.num_rows, dtype=np.int32)),
        FILE: batch.column(FILE),
        RECORD: batch.column(RECORD),
    }


def look_into(
    frames: Iterator[pa.RecordBatch], computed: tuple[str, ...], look: Callable[[pa.RecordBatch], pa.Array]
) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Yield each frame unchanged, with the result of `look` for its unpacked rows: one value per row.

    Raises the errors of `unpack`.
    """
    waiting: deque[pa.RecordBatch] = deque()

    def recorded() -> Iterator[pa.RecordBatch]:
        for frame in frames:
            if frame.num_rows:
                waiting.append(frame)
                yield frame

    found: list[pa.Array] = []
    for piece in unpack(recorded(), computed):
        found.append(look(piece))
        if sum(map(len, found)) == waiting[0].num_rows:
            yield waiting.popleft(), pa.concat_arrays(found)
            found = []


def _pieces(frame: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Return the rows of a frame's batch, split before every packed batch."""
    starts = pc.indices_nonzero(pc.is_valid(frame.column(PACKED_BATCH))).to_pylist()
    cuts = sorted({0, *starts, frame.num_rows})
    return (frame.slice(start, end - start) for start, end in pairwise(cuts))


def _open(packed_batch: pa.BinaryScalar) -> pa.RecordBatch:
    with pa.ipc.open_stream(packed_batch.as_buffer()) as stream:
        return stream.read_next_batch()


def _require_all(batch: pa.RecordBatch | None, done: int) -> None:
    if batch is not None and done != batch.num_rows:
        raise _rows_lost()


def _require_in_order(rows: pa.Array, first: int) -> None:
    if not np.array_equal(rows.to_numpy(zero_copy_only=False), np.arange(first, first + len(rows), dtype=np.int32)):
        raise _rows_lost()


def _rows_lost() -> Terminal:
    return Terminal(
        "rows.lost",
        "Some rows that were read did not reach validation.",
        hint="The target was not loaded. Please report this with the pipeline.",
    )
