"""Builds batches for the frame: the position of each record, its error if any, then the fields by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.formats.limits import rows_for_cells
from executors.model import SourceField, Split
from executors.types import wire_type

Batches = Iterator[pa.RecordBatch]
Ints = np.ndarray[Any, np.dtype[np.int64]]

HIDDEN = (
    pa.field("_flow_file", pa.int32(), nullable=False),
    pa.field("_flow_record", pa.int64(), nullable=False),
    pa.field("_flow_bad", pa.string()),
    pa.field("_flow_raw", pa.string()),
)


def text_schema(fields: Sequence[SourceField]) -> pa.Schema:
    """Return the schema of batches whose values are all text."""
    return pa.schema([*HIDDEN, *(pa.field(f.name, pa.string()) for f in fields)])


def typed_schema(fields: Sequence[SourceField]) -> pa.Schema:
    """Return the schema of batches with typed values."""
    return pa.schema([*HIDDEN, *(pa.field(f.name, wire_type(f.type).arrow) for f in fields)])


@dataclass(slots=True)
class BadRecords:
    """Unreadable records by their position in the batch: the reason, and the raw text."""

    reasons: dict[int, str] = field(default_factory=dict)
    raw: dict[int, str] = field(default_factory=dict)

    def add(self, index: int, reason: str, raw: str) -> None:
        self.reasons[index] = reason
        self.raw[index] = raw

    def between(self, start: int, end: int) -> BadRecords:
        """Return the records of a part, by their positions in the part."""
        found = [index for index in self.reasons if start <= index < end]
        return BadRecords(
            {index - start: self.reasons[index] for index in found}, {index - start: self.raw[index] for index in found}
        )


@dataclass(frozen=True, slots=True)
class Places:
    """The places of records: the position of the file of each, and its number in that file."""

    files: Ints
    records: Ints

    @classmethod
    def of(cls, parts: Sequence[tuple[int, int, int]]) -> Places:
        """Return the places of parts of files: position of the file, number of the first record, number of records."""
        files, firsts, sizes = np.array(parts, dtype=np.int64).reshape(-1, 3).T
        before = np.cumsum(sizes) - sizes
        records = np.arange(sizes.sum()) + np.repeat(firsts - before, sizes)
        return cls(np.repeat(files, sizes), records)

    def between(self, start: int, end: int) -> Places:
        return Places(self.files[start:end], self.records[start:end])


class Framer:
    """Builds the batches of one split and numbers its records in order."""

    def __init__(self, split: Split, schema: pa.Schema) -> None:
        self._split, self._schema = split, schema
        self._next = split.first_record

    def batches(self, size: int, columns: Mapping[str, pa.Array], bad: BadRecords) -> Batches:
        """Return the records as `framed`."""
        return framed(self._take(size), columns, bad, self._schema)

    def batch(self, size: int, columns: Mapping[str, pa.Array], bad: BadRecords) -> pa.RecordBatch:
        """Return a batch. `columns` hold the readable records, in order; a column that the file lacks is NULL."""
        return _batch(self._take(size), columns, bad, self._schema)

    def _take(self, size: int) -> Places:
        first, self._next = self._next, self._next + size
        return Places.of([(self._split.file.seq, first, size)])


def framed(places: Places, columns: Mapping[str, pa.Array], bad: BadRecords, schema: pa.Schema) -> Batches:
    """Return records in batches of bounded size, because a column that the file lacks takes memory too."""
    most, size = rows_for_cells(len(schema)), len(places.files)
    if size <= most:
        yield _batch(places, columns, bad, schema)
        return
    good = 0
    for start in range(0, size, most):
        rows = min(most, size - start)
        here = bad.between(start, start + rows)
        part = {name: values.slice(good, rows - len(here.reasons)) for name, values in columns.items()}
        good += rows - len(here.reasons)
        yield _batch(places.between(start, start + rows), part, here, schema)


def _batch(places: Places, columns: Mapping[str, pa.Array], bad: BadRecords, schema: pa.Schema) -> pa.RecordBatch:
    size = len(places.files)
    indices = _valid_indices(size, bad.reasons)
    arrays = [
        pa.array(places.files, pa.int32()),
        pa.array(places.records, pa.int64()),
        sparse(size, bad.reasons),
        sparse(size, bad.raw),
    ]
    for column in list(schema)[len(HIDDEN) :]:
        values = columns.get(column.name)
        if values is None:
            values = pa.nulls(size, column.type)
        elif indices is not None:
            values = values.take(indices)
        arrays.append(values)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def batch_of_rows(first: int, arrays: Sequence[pa.Array], bad: BadRecords, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows of a database as a batch; `first` is the number of its first row. Unreadable rows are NULL in every
    column."""
    size = len(arrays[0])
    hidden = [
        pa.array(np.zeros(size, dtype=np.int32)),
        pa.array(np.arange(first, first + size, dtype=np.int64)),
        sparse(size, bad.reasons),
        sparse(size, bad.raw),
    ]
    return pa.RecordBatch.from_arrays([*hidden, *arrays], schema=schema)


def _valid_indices(size: int, bad: Mapping[int, str]) -> pa.Array | None:
    """Return for each record its index among the readable ones, NULL for unreadable ones. Return None if all are
    readable."""
    if not bad:
        return None
    is_bad = np.zeros(size, dtype=bool)
    is_bad[list(bad)] = True
    return pa.array(np.cumsum(~is_bad) - 1, mask=is_bad)


def sparse(size: int, texts: Mapping[int, str]) -> pa.Array:
    """Return an array of `size` texts, NULL except at the given positions."""
    if not texts:
        return pa.nulls(size, pa.string())
    return pa.array([texts.get(index) for index in range(size)], pa.string())


GATHERED_ROWS, GATHERED_BYTES = 8192, 1 << 20
"""From which size a batch is passed on as it is. Each costs about as much as some thousand rows."""


def gathered(batches: Batches) -> Batches:
    """Join successive small batches, such as those of small files, and yield all rows in order."""
    waiting: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GATHERED_ROWS or size >= GATHERED_BYTES:
            yield _joined(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def trailer(schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """Return a row that follows the rows of a part and holds their number: its record number is -1 - rows.

    It is marked as an unreadable record, so that no expression evaluates it and no filter removes it.
    """
    values = {"_flow_file": 0, "_flow_record": -1 - rows, "_flow_bad": "trailer"}
    return pa.RecordBatch.from_pylist([{field.name: values.get(field.name) for field in schema}], schema=schema)


def take_trailers(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[int]]:
    """Return the batch without trailers, and the numbers of rows in these trailers."""
    is_trailer = pc.less(batch.column("_flow_record"), 0)
    if not is_trailer.true_count:
        return batch, []
    numbers = batch.column("_flow_record").filter(is_trailer)
    return batch.filter(pc.invert(is_trailer)), [-1 - record for record in numbers.to_pylist()]
