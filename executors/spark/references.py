"""Reads the rows of a reference for a join. A missing row in a reference would make wrong results, so no bad rows are
allowed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructField, StructType

from executors.errors import Terminal
from executors.formats.batches import take_trailers
from executors.formats.closing import closed_after
from executors.grammar import canonical_text
from executors.model import ReferenceRead
from executors.reading import Reading
from executors.spark.compiled import Reference
from executors.spark.steps import Program, run_programs
from executors.spark.types import is_native, spark_type
from executors.validation import BAD, FILE, RECORD, OpFlag
from ir.words import counted


@dataclass(frozen=True, slots=True)
class ReferenceTask:
    """Returns the rows of a reference that its filters keep, with the columns that a join uses under their own names.

    Raises Terminal `join.reference_unreadable` for a record that cannot be read, and for a value that does not have its
    type.
    """

    node: str
    columns: tuple[tuple[str, str, bool], ...]
    programs: tuple[Program, ...]
    keep: str | None
    flags: tuple[OpFlag, ...]
    files: Mapping[int, str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with closed_after(batches):
            for batch in batches:
                rows, _ = take_trailers(batch)
                kept = rows.filter(rows.column(self.keep)) if self.keep else rows
                finished = run_programs(kept, self.programs)
                self._require_readable(finished)
                yield self._used(finished)

    def _require_readable(self, rows: pa.RecordBatch) -> None:
        self._require(rows, pc.is_valid(rows.column(BAD)), self.node, "cannot be read")
        for flag in self.flags:
            what = f"{flag.field!r} {flag.message}" if flag.field else flag.message
            self._require(rows, pc.fill_null(rows.column(flag.column), False), flag.node, what)

    def _require(self, rows: pa.RecordBatch, is_bad: pa.BooleanArray, node: str, what: str) -> None:
        if not is_bad.true_count:
            return
        first = rows.filter(is_bad).slice(0, 1).select([FILE, RECORD]).to_pylist()[0]
        raise Terminal(
            "join.reference_unreadable",
            f"{self.files[first[FILE]]} record {first[RECORD]:,}: {what}. Rows that look it up would seem to have no "
            "match.",
            node=node,
            hint="Correct the record, or leave it out with a filter in a transform before the join.",
        )

    def _used(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [
            rows.column(column) if native else canonical_text(rows.column(column)).cast(pa.string())
            for _, column, native in self.columns
        ]
        return pa.RecordBatch.from_arrays(arrays, [name for name, _, _ in self.columns])


def reference_task(reference: Reference) -> ReferenceTask:
    compiled = reference.compiled
    places = compiled.sink_columns()
    return ReferenceTask(
        node=reference.path.source.id,
        columns=tuple((name, places[name], is_native(column.type)) for name, column in compiled.working.items()),
        programs=compiled.sink_programs(),
        keep=compiled.keeps[-1][1] if compiled.keeps else None,
        flags=compiled.sink_flags(),
        files={origin.seq: origin.name for origin in reference.reading.origins},
    )


def reference_schema(reference: Reference) -> StructType:
    """Return the columns that a join uses. Types that Spark does not have are text."""
    columns = reference.compiled.working.items()
    return StructType([StructField(name, spark_type(column.type)) for name, column in columns])


def reference_read(reading: Reading) -> ReferenceRead:
    """Return which rows of a reference were read, for the record of the load."""
    origins = reading.origins
    if len(origins) == 1:
        return ReferenceRead(origins[0].name, origins[0].sha256, reading.records)
    together = hashlib.sha256("\n".join(origin.sha256 for origin in origins).encode()).hexdigest()
    return ReferenceRead(counted(len(origins), "file"), together, reading.records)
