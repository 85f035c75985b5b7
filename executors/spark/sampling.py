"""Samples rows after the ops of a path, from a few splits, without staging rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from executors.formats.batches import take_trailers
from executors.formats.closing import closed_after
from executors.grammar import canonical_text
from executors.reading import Part, Reading
from executors.spark.columns import compile_path
from executors.spark.errors import translate
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.one_pass import frame_of_rows, unpack_task
from executors.spark.reader import ReadTask, group_parts
from executors.spark.session import RunSession
from executors.spark.steps import Program, run_programs
from executors.validation import BAD, FILE, RECORD
from ir.lineage import columns_of_other_rows
from ir.nodes import Transform
from ir.ops import Deduplicate
from ir.pipeline import Path

MOST_PARTS = 4
ROWS = "file int, record long, row string"
"""The schema of the result: the position of the row, and its columns as JSON."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row with the number of its file in the scan and its record number in that file."""

    file: int
    record: int
    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sampled:
    """The sampled rows, and the types of their columns."""

    rows: list[FileRow]
    types: Mapping[str, str]


def sample_rows(session: RunSession, path: Path, reading: Reading, most: int) -> Sampled:
    """Return at most `most` rows from splits that are spread over the source, before all rules. Rows that cannot be
    read, that casts reject or that filters remove are left out. The op `deduplicate` is ignored, because it would have
    to read all rows. Columns that are computed from other rows are left out: from a sample they have other values.

    Raises the errors of `compile_path`, of reading and of Spark.
    """
    compiled = compile_path(session, _before_rules(path), reading.fields, references=reading.references)
    groups = group_parts(_spread(reading.parts), MOST_PARTS)
    each = -(-most // max(len(groups), 1))
    reader = _FirstRows(reading.reader, groups, compiled.source, compiled.read, each)
    rejects = path.target.on_type_mismatch != "null"
    casts = tuple(flag.column for flag in compiled.sink_flags()) if rejects else ()
    left_out = columns_of_other_rows(path)
    columns = tuple((name, column) for name, column in compiled.sink_columns().items() if name not in left_out)
    task = _Rows(columns, compiled.sink_programs(), compiled.keeps, casts)
    with translate(path.target.id, compiled.expressions):
        numbers = frame_of_numbers(session.start(), len(groups))
        if compiled.stages:
            frame = frame_of_rows(numbers, reader, compiled)
            rows = run_job(map_task(frame, unpack_task(task, frame, compiled), ROWS))
        else:
            rows = run_job(map_task(numbers, _Chain(reader, task), ROWS))
    found = [FileRow(row["file"], row["record"], json.loads(row["row"])) for row in rows[:most]]
    return Sampled(found, {field.name: str(field.type) for field in compiled.fields if field.name not in left_out})


def _before_rules(path: Path) -> Path:
    transforms = tuple(_without_deduplicate(transform) for transform in path.transforms)
    return Path(path.source, transforms, (), path.target, path.references)


def _without_deduplicate(transform: Transform) -> Transform:
    return transform.model_copy(update={"ops": [op for op in transform.ops if not isinstance(op, Deduplicate)]})


def _spread(parts: Sequence[Part]) -> list[Part]:
    if len(parts) <= MOST_PARTS:
        return list(parts)
    return [parts[i * (len(parts) - 1) // (MOST_PARTS - 1)] for i in range(MOST_PARTS)]


@dataclass(frozen=True, slots=True)
class _FirstRows(ReadTask):
    """Reads at most `most` rows for each task, and stops."""

    most: int = 0

    def read_group(self, number: int) -> Iterator[pa.RecordBatch]:
        left = self.most
        with closed_after(ReadTask.read_group(self, number)) as batches:
            for batch in batches:
                rows, _ = take_trailers(batch)
                yield rows.slice(0, left)
                left -= rows.num_rows
                if left <= 0:
                    return


@dataclass(frozen=True, slots=True)
class _Chain:
    reader: _FirstRows
    task: _Rows

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(self.reader(numbers))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Returns the working columns of rows as JSON. Numbers and booleans have their JSON type; all other values are the
    text that rules check. Rows for which one of `casts` is true are left out, because no rule checks them."""

    columns: tuple[tuple[str, str], ...]
    programs: tuple[Program, ...]
    keeps: tuple[tuple[str, str], ...]
    casts: tuple[str, ...] = ()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with closed_after(batches):
            for batch in batches:
                yield self._as_json(batch)

    def _as_json(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        filtered = batch.filter(batch.column(self.keeps[-1][1])) if self.keeps else batch
        rows = run_programs(filtered.filter(pc.is_null(filtered.column(BAD))), self.programs)
        for column in self.casts:
            rows = rows.filter(pc.invert(pc.fill_null(rows.column(column), False)))
        values = [_plain(rows.column(column)) for _, column in self.columns]
        names = [name for name, _ in self.columns]
        texts = [json.dumps(dict(zip(names, row, strict=True))) for row in zip(*values, strict=True)]
        return pa.RecordBatch.from_arrays(
            [rows.column(FILE), rows.column(RECORD), pa.array(texts, pa.string())], ["file", "record", "row"]
        )


def _plain(values: pa.Array) -> list[Any]:
    is_plain = pa.types.is_integer(values.type) or pa.types.is_boolean(values.type)
    shown = values if is_plain else canonical_text(values).cast(pa.string())
    found: list[Any] = shown.to_pylist()
    return found
