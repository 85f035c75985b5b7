"""The reader of a pass: turns a frame of part numbers into a frame of rows.

A task gets the numbers of its groups of parts from `range` and reads them. A Python data source of Spark would need two
more Python workers to plan each load, which takes seconds at a cold start.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from executors.formats.batches import Batches, gathered
from executors.formats.closing import closed_after
from executors.grammar import canonical_text
from executors.model import SourceField
from executors.reading import Part, PartReader, read_parts
from executors.spark.exploding import Explode, run_reading
from executors.spark.groups import Group, grouped
from executors.spark.steps import Program
from executors.validation import BAD, FILE, RAW, RECORD
from ir.types import ColumnType

HIDDEN = (FILE, RECORD, BAD, RAW)


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Reads the parts of one task. Returns hidden columns, source columns under their frame names, and the results of
    `programs`."""

    reader: PartReader
    groups: tuple[Group[Part], ...]
    source: tuple[tuple[str, SourceField], ...]
    programs: tuple[Program | Explode, ...]

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.read_group(number)

    def read_group(self, number: int) -> Iterator[pa.RecordBatch]:
        with closed_after(self._parts(number)) as batches:
            for batch in gathered(batches):
                yield from run_reading(self._named(batch), self.programs)

    def _parts(self, number: int) -> Batches:
        return read_parts(self.reader, self.groups[number].items(), tuple(field for _, field in self.source))

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [batch.column(name) for name in HIDDEN]
        arrays += [_to_wire(batch.column(field.name), field.type) for _, field in self.source]
        return pa.RecordBatch.from_arrays(arrays, [*HIDDEN, *(name for name, _ in self.source)])


def _to_wire(values: pa.Array, kind: ColumnType) -> pa.Array:
    return canonical_text(values) if kind.kind == "time" else values


def group_parts(parts: Sequence[Part], most: int) -> tuple[Group[Part], ...]:
    """Distribute parts to at most `most` tasks, in source order, by size."""
    return grouped(parts, most, lambda part: part.end - part.start)
