"""Makes one row for each element of a JSON array, in the reader. The rows of a record stay together."""

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
"""The number of rows of the record, stored in each of them."""
MOST_RECORD_BYTES = 64 << 20
"""The largest size of the rows of one record, which must be in one batch. The JVM needs several copies of a batch."""
_CELL_BYTES = 8


@dataclass(frozen=True, slots=True)
class Explode:
    """Makes one row for each element of the arrays in `base`, and one row for each other record.

    Adds the JSON text of the `element`, its position ELEMENT, the number ELEMENTS, and `keep`, which is false for
    records without elements unless `keep_empty` is true. The flag `unreadable` is true for values that are not arrays,
    and if one of the flags `bad` is set; `too_large` for records whose rows would take too much memory. The columns
    `once` have their values in the first row of each record only, because only the quarantine reads them later.
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
    """Yield the batch with the columns of the programs, in several pieces if its records are exploded. Bad values do
    not raise errors."""
    plain: list[Program] = []
    for number, program in enumerate(programs):
        if isinstance(program, Explode):
            for piece in explode(run_programs(batch, plain), program):
                yield from run_reading(piece, programs[number + 1 :])
            return
        plain.append(program)
    yield run_programs(batch, plain)


def explode(batch: pa.RecordBatch, step: Explode) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batch's records, in pieces of bounded size."""
    found = _elements_of(batch, step)
    once = [name for name in batch.schema.names if name in step.once]
    dense = row_sizes(batch.drop_columns(once)) + _CELL_BYTES * batch.num_columns
    single, elements = row_sizes(batch.select(once)), np.array(list(map(_bytes_of, found.texts)), dtype=np.int64)
    numbers = np.array(list(map(len, found.texts)), dtype=np.int64)
    # Each element is there twice: its text, and its value of the type that the op gives it.
    too_large = (numbers > 0) & (numbers * dense + single + 2 * elements > MOST_RECORD_BYTES)
    texts = [[] if large else some for some, large in zip(found.texts, too_large.tolist(), strict=True)]
    sizes = np.where(too_large, 0, numbers)
    counts = np.maximum(sizes, 1)
    flags = {step.unreadable: np.array(found.unreadable, bool), step.too_large: too_large}
    for start, end in _ranges(counts * dense + single + np.where(too_large, 0, 2 * elements)):
        records = np.repeat(np.arange(start, end), counts[start:end])
        yield _piece(batch, step, records, texts, flags, has_element=sizes[records] > 0)


@dataclass(frozen=True, slots=True)
class _Elements:
    texts: list[list[str | None]]
    unreadable: list[bool]


def _elements_of(batch: pa.RecordBatch, step: Explode) -> _Elements:
    found = _Elements([], [])
    is_read = readable = pc.is_null(batch.column(BAD))
    for name in step.bad:
        readable = pc.and_not(readable, pc.fill_null(batch.column(name), False))
    documents = read_documents(batch.column(step.base), empty_as_null=step.empty_as_null)
    for document, is_readable, was_read in zip(documents, readable.to_pylist(), is_read.to_pylist(), strict=True):
        texts = _texts_of(document) if is_readable else None
        found.texts.append(texts or [])
        found.unreadable.append(texts is None and was_read)
    return found


def _texts_of(document: Any) -> list[str | None] | None:
    """Return the JSON texts of the elements; None for a value that is not an array. NULL and a JSON null are arrays
    without elements."""
    if document is ABSENT or document is None:
        return []
    if not isinstance(document, list):
        return None
    try:
        return [json_text(element) for element in document]
    except RecursionError:
        return None


def _bytes_of(texts: Sequence[str | None]) -> int:
    """Return the size of the texts in UTF-8."""
    return sum(len(text) if text.isascii() else len(text.encode(errors="replace")) for text in texts if text)


def _ranges(sizes: np.ndarray[Any, Any]) -> Iterator[tuple[int, int]]:
    """Yield ranges of records whose rows take about `BATCH_BYTES`, with at least one record each."""
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
    *,
    has_element: np.ndarray[Any, Any],
) -> pa.RecordBatch:
    is_first = np.concatenate(([True], records[1:] != records[:-1]))
    starts = np.flatnonzero(is_first)
    counts = np.diff(np.append(starts, len(records)))
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
    """Passes batches with complete records to the sink, because the JVM can split a batch between any two rows."""

    sink: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.sink(whole_records(batches))


def whole_records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the same rows in batches of complete records. Raises Terminal `rows.lost` if rows of a record are
    missing."""
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
    """Raise Terminal `rows.lost` unless the rows of each record are in order and complete."""
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
        "Some exploded rows of a record did not reach validation.",
        hint="The target was not loaded. Please report this with the pipeline.",
    )
