"""One row of each element of a JSON array, made where records are read. The rows of a record stay together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import Terminal
from executors.formats.closing import closed_after
from executors.formats.limits import BATCH_BYTES
from executors.formats.row_bytes import row_sizes
from executors.grammar.extracting import ABSENT, json_text, read_documents
from executors.spark.steps import Program, run_programs
from executors.validation import BAD, ELEMENT

if TYPE_CHECKING:
    from executors.spark.jobs import Task

ELEMENTS = "_flow_elements"
"""How many rows were made of the record, in each of them."""
MOST_RECORD_BYTES = 256 << 20
"""What the rows of one record may take together: they are in one batch."""
_CELL_BYTES = 8


@dataclass(frozen=True, slots=True)
class Explode:
    """Makes one row of each element of the arrays in `base`, and one of each other record.

    Adds the JSON text of the `element`, its place ELEMENT, ELEMENTS, and `keep`, which is false for records without
    elements unless `keep_empty`. The flag `unreadable` is true for what is no array, and where one of the flags `bad`
    is; `too_large` for records whose rows would take too much memory. The columns `once` have their values in the
    first row of each record alone: nothing behind reads them but the quarantine.
    """

    base: str
    element: str
    keep: str
    unreadable: str
    too_large: str
    bad: tuple[str, ...]
    keep_empty: bool
    empty_as_null: bool
    once: tuple[str, ...] = ()

    @property
    def flags(self) -> tuple[str, ...]:
        return self.unreadable, self.too_large

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.element, ELEMENT, ELEMENTS, self.keep, *self.flags)


def run_reading(batch: pa.RecordBatch, programs: Sequence[Program | Explode]) -> Iterator[pa.RecordBatch]:
    """The batch with what programs add, in several pieces where its records are exploded. Never raises for data."""
    plain: list[Program] = []
    for number, program in enumerate(programs):
        if isinstance(program, Explode):
            for piece in explode(run_programs(batch, plain), program):
                yield from run_reading(piece, programs[number + 1 :])
            return
        plain.append(program)
    yield run_programs(batch, plain)


def explode(batch: pa.RecordBatch, step: Explode) -> Iterator[pa.RecordBatch]:
    """The rows of the batch's records, in pieces of bounded size."""
    found = _elements_of(batch, step)
    once = [name for name in batch.schema.names if name in step.once]
    dense = row_sizes(batch.drop_columns(once)) + _CELL_BYTES * batch.num_columns
    too_large = [len(texts) * size > MOST_RECORD_BYTES for texts, size in zip(found.texts, dense.tolist(), strict=True)]
    texts = [[] if large else some for some, large in zip(found.texts, too_large, strict=True)]
    counts = np.array([max(1, len(some)) for some in texts], dtype=np.int64)
    flags = {step.unreadable: found.unreadable, step.too_large: too_large}
    for start, end in _ranges(counts * dense):
        records = np.repeat(np.arange(start, end), counts[start:end])
        yield _piece(batch, step, records, texts, {name: np.array(values) for name, values in flags.items()})


@dataclass(frozen=True, slots=True)
class _Elements:
    texts: list[list[str | None]]
    unreadable: list[bool]


def _elements_of(batch: pa.RecordBatch, step: Explode) -> _Elements:
    found = _Elements([], [])
    readable = pc.is_null(batch.column(BAD)).to_pylist()
    for name in step.bad:
        readable = [one and not bad for one, bad in zip(readable, batch.column(name).to_pylist(), strict=True)]
    unread = pc.is_valid(batch.column(BAD)).to_pylist()
    documents = read_documents(batch.column(step.base), empty_as_null=step.empty_as_null)
    for document, is_readable, is_unread in zip(documents, readable, unread, strict=True):
        texts = _texts_of(document) if is_readable else None
        found.texts.append(texts or [])
        found.unreadable.append(texts is None and not is_unread)
    return found


def _texts_of(document: Any) -> list[str | None] | None:
    """The JSON texts of the elements; None for what is no array. NULL and a JSON null are arrays without elements."""
    if document is ABSENT or document is None:
        return []
    if not isinstance(document, list):
        return None
    try:
        return [json_text(element) for element in document]
    except RecursionError:
        return None


def _ranges(sizes: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
    """The records in ranges whose rows take about so many bytes; at least one record each."""
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + BATCH_BYTES, side="right")))
        yield start, end
        start = end


def _piece(
    batch: pa.RecordBatch,
    step: Explode,
    records: np.ndarray[Any, Any],
    texts: list[list[str | None]],
    flags: dict[str, np.ndarray[Any, Any]],
) -> pa.RecordBatch:
    is_first = np.concatenate(([True], records[1:] != records[:-1]))
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.append(starts, len(records)))
    has_element = np.array([bool(texts[record]) for record in records])
    every, first = pa.array(records), pa.array(records, mask=~is_first)
    columns = {name: batch.column(name).take(first if name in step.once else every) for name in batch.schema.names}
    flagged = {name: values[records] for name, values in flags.items()}
    is_bad = pc.is_valid(columns[BAD]).to_numpy(zero_copy_only=False) | np.logical_or.reduce(list(flagged.values()))
    places = (np.arange(len(records)) - np.repeat(starts, counts)).astype(np.int32)
    columns |= {
        step.element: pa.array([text for record in records[starts] for text in texts[record] or [None]], pa.string()),
        ELEMENT: pa.array(places, mask=~has_element),
        ELEMENTS: pa.array(np.repeat(counts, counts).astype(np.int32)),
        step.keep: pa.array(has_element | is_bad | step.keep_empty),
        **{name: pa.array(values) for name, values in flagged.items()},
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


@dataclass(frozen=True, slots=True)
class WholeRecordsTask:
    """Hands batches over to the sink that have all rows of their records: the JVM cuts batches anywhere."""

    sink: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.sink(whole_records(batches))


def whole_records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches that part no record. Raises Terminal `rows.lost` if rows of a record are missing."""
    parts: list[pa.RecordBatch] = []
    with closed_after(batches):
        for batch in batches:
            if not batch.num_rows:
                continue
            parts.append(batch)
            if _ends_a_record(parts):
                yield _require_whole(pa.concat_batches(parts))
                parts = []
    if parts:
        raise _rows_lost()


def _ends_a_record(parts: Sequence[pa.RecordBatch]) -> bool:
    place, number = parts[-1].column(ELEMENT)[-1].as_py(), parts[-1].column(ELEMENTS)[-1].as_py()
    return bool((place or 0) + 1 == number)


def _require_whole(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Each row must follow the one before it in its record, and each record must have as many as were made."""
    places = pc.fill_null(batch.column(ELEMENT), 0).to_numpy(zero_copy_only=False)
    numbers = batch.column(ELEMENTS).to_numpy(zero_copy_only=False)
    ends = places + 1 == numbers
    expected = np.concatenate(([0], np.where(ends, 0, places + 1)[:-1]))
    if not np.array_equal(places, expected) or not ends[-1]:
        raise _rows_lost()
    return batch


def _rows_lost() -> Terminal:
    return Terminal(
        "rows.lost",
        "Some rows that were made of a record did not reach validation.",
        hint="The target was not loaded. Please report this with the pipeline.",
    )
