"""Batches that pass through the JVM unopened, so that only what expressions look at is taken apart into rows there.

The first row of every batch carries the whole batch as one value; the rows beside it carry the columns that expressions
need. No stage drops or adds rows, and those that move rows bring them back in order by BATCH and ROW, so the sink can
put both together again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import Terminal
from executors.formats.closing import closed_after
from executors.spark.reader import ReadTask
from executors.validation import BAD, FILE, RECORD

if TYPE_CHECKING:
    from executors.spark.jobs import Task

PARCEL, BROKEN = "_flow_parcel", "_flow_broken"
"""The batch, NULL but in its first row; and whether the row's record could not be read."""
BATCH, ROW = "_flow_batch", "_flow_row"
PLACES = (BATCH, ROW, FILE, RECORD)
"""Where a row stands: its place among the rows that travel, and the one in its source."""


@dataclass(frozen=True, slots=True)
class PackTask:
    """Reads a task's splits into parcels, with the needed columns beside them. `tells_places` adds those of PLACES."""

    reader: ReadTask
    needed: tuple[str, ...]
    tells_places: bool = False

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for groups in numbers:
            for group in groups.column(0).to_pylist():
                yield from self._packed(group)

    def _packed(self, group: int) -> Iterator[pa.RecordBatch]:
        with closed_after(self.reader.read_group(group)) as batches:
            for number, batch in enumerate(batch for batch in batches if batch.num_rows):
                packed = pack(batch, self.needed)
                # The same number whenever the task is done again: Spark may ask anew for a part of what it has sent.
                yield _placed(packed, batch, group << 32 | number) if self.tells_places else packed


@dataclass(frozen=True, slots=True)
class UnpackTask:
    """Puts the `computed` columns beside the parcels' own and hands the rows to the sink."""

    sink: Task
    computed: tuple[str, ...]

    def __call__(self, frames: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.sink(unpack(frames, self.computed))


def pack(batch: pa.RecordBatch, needed: tuple[str, ...]) -> pa.RecordBatch:
    """A batch of at least one row as rows of parcel, broken flag and needed columns."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as stream:
        stream.write_batch(batch)
    first = pa.array([out.getvalue().to_pybytes()], pa.binary())
    parcel = pa.concat_arrays([first, pa.nulls(batch.num_rows - 1, pa.binary())])
    arrays = [parcel, pc.is_valid(batch.column(BAD)), *(batch.column(name) for name in needed)]
    return pa.RecordBatch.from_arrays(arrays, [PARCEL, BROKEN, *needed])


def unpack(frames: Iterator[pa.RecordBatch], computed: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The batches again, each with its computed columns, in one or more pieces as the JVM has cut them.

    Raises Terminal `rows.lost` if rows are missing.
    """
    batch, done = None, 0
    for frame in frames:
        for piece in _pieces(frame):
            if piece.column(PARCEL)[0].is_valid:
                _require_all(batch, done)
                batch, done = _open(piece.column(PARCEL)[0]), 0
            if batch is None or done + piece.num_rows > batch.num_rows:
                raise _rows_lost()
            own = batch.slice(done, piece.num_rows)
            done += piece.num_rows
            yield pa.RecordBatch.from_arrays(
                [*own.columns, *(piece.column(name) for name in computed)], [*own.schema.names, *computed]
            )
    _require_all(batch, done)


def _placed(packed: pa.RecordBatch, batch: pa.RecordBatch, number: int) -> pa.RecordBatch:
    places = [
        pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows),
        pa.array(range(batch.num_rows), pa.int32()),
        batch.column(FILE),
        batch.column(RECORD),
    ]
    return pa.RecordBatch.from_arrays([*packed.columns, *places], [*packed.schema.names, *PLACES])


def look_into(
    frames: Iterator[pa.RecordBatch], computed: tuple[str, ...], look: Callable[[pa.RecordBatch], pa.Array]
) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Each frame as it came, with what `look` says of its rows unpacked: one value a row. Raises as `unpack` does."""
    waiting: deque[pa.RecordBatch] = deque()

    def noted() -> Iterator[pa.RecordBatch]:
        for frame in frames:
            if frame.num_rows:
                waiting.append(frame)
                yield frame

    found: list[pa.Array] = []
    for piece in unpack(noted(), computed):
        found.append(look(piece))
        if sum(map(len, found)) == waiting[0].num_rows:
            yield waiting.popleft(), pa.concat_arrays(found)
            found = []


def _pieces(frame: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows of a frame's batch, cut before every parcel."""
    starts = pc.indices_nonzero(pc.is_valid(frame.column(PARCEL))).to_pylist()
    cuts = sorted({0, *starts, frame.num_rows})
    return (frame.slice(start, end - start) for start, end in pairwise(cuts))


def _open(parcel: pa.BinaryScalar) -> pa.RecordBatch:
    with pa.ipc.open_stream(parcel.as_buffer()) as stream:
        return stream.read_next_batch()


def _require_all(batch: pa.RecordBatch | None, done: int) -> None:
    if batch is not None and done != batch.num_rows:
        raise _rows_lost()


def _rows_lost() -> Terminal:
    return Terminal(
        "rows.lost",
        "Rows that were read did not arrive where they are judged.",
        hint="Nothing was loaded. Please report this with the pipeline.",
    )
