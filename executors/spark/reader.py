"""The reader of a pass: turns a frame of part numbers into a frame of rows.

A task gets the numbers of its groups of parts from `range` and reads them. A Python data source of Spark would need two
more Python workers to plan each load, which takes seconds at a cold start.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from executors.formats.batches import Batches, gathered
from executors.formats.closing import closed_after
from executors.grammar import canonical_text
from executors.model import SourceField
from executors.reading import Part, PartReader
from executors.spark.ahead import AHEAD_BYTES, SMALL_BYTES, read_ahead
from executors.spark.exploding import Explode, run_reading
from executors.spark.steps import Program
from executors.validation import BAD, FILE, RAW, RECORD
from ir.types import ColumnType

HIDDEN = (FILE, RECORD, BAD, RAW)


@dataclass(frozen=True, slots=True)
class Group:
    """The parts of one task. Each task receives those of all tasks, and makes objects of its own ones only: for many
    small files that takes as long as reading them."""

    pickled: bytes

    @classmethod
    def of(cls, parts: Sequence[Part]) -> Group:
        return cls(pickle.dumps(tuple(parts)))

    def parts(self) -> tuple[Part, ...]:
        return tuple(pickle.loads(self.pickled))  # noqa: S301 - written by the driver


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Reads the parts of one task. Returns hidden columns, source columns under their frame names, and the results of
    `programs`."""

    reader: PartReader
    groups: tuple[Group, ...]
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
        fields = tuple(field for _, field in self.source)
        for is_small, parts in groupby(self.groups[number].parts(), key=lambda part: _weight(part) <= SMALL_BYTES):
            if is_small and self.reader.waits:
                yield from self._read_ahead(parts, fields)
                continue
            for part in parts:
                with closed_after(self.reader.read(part, fields)) as batches:
                    yield from batches

    def _read_ahead(self, parts: Iterator[Part], fields: Sequence[SourceField]) -> Batches:
        def begin(part: Part) -> tuple[list[pa.RecordBatch], Batches]:
            """Read the first rows of a part. A compressed file may be large once it is expanded."""
            batches, begun, size = self.reader.read(part, fields), list[pa.RecordBatch](), 0
            for batch in batches:
                begun.append(batch)
                size += batch.nbytes
                if size > AHEAD_BYTES:
                    return begun, batches
            return begun, iter(())

        with closed_after(read_ahead(begin, parts)) as begun_parts:
            for begun, rest in begun_parts:
                yield from begun
                with closed_after(rest) as batches:
                    yield from batches

    def _named(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [batch.column(name) for name in HIDDEN]
        arrays += [_to_wire(batch.column(field.name), field.type) for _, field in self.source]
        return pa.RecordBatch.from_arrays(arrays, [*HIDDEN, *(name for name, _ in self.source)])


def _to_wire(values: pa.Array, kind: ColumnType) -> pa.Array:
    return canonical_text(values) if kind.kind == "time" else values


def group_parts(parts: Sequence[Part], most: int) -> tuple[Group, ...]:
    """Distribute parts to at most `most` tasks, in source order, by size."""
    total = sum(_weight(part) for part in parts)
    groups: list[list[Part]] = [[] for _ in range(min(most, len(parts)))]
    before = 0
    for part in parts:
        # The middle of a part decides, so that a large part belongs to the group that contains most of it.
        group = (before + _weight(part) / 2) * len(groups) / total
        groups[min(int(group), len(groups) - 1)].append(part)
        before += _weight(part)
    return tuple(Group.of(group) for group in groups if group)


def _weight(part: Part) -> int:
    return max(1, part.end - part.start)
