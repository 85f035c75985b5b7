"""Evaluating one expression over rejected rows, row by row, without staging anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar import canonical_text
from executors.reading import Reading
from executors.spark.columns import compile_path
from executors.spark.errors import translate
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.one_pass import MOST_TASKS, frame_of_rows
from executors.spark.parcels import UnpackTask
from executors.spark.reader import ReadTask, group_parts
from executors.spark.session import RunSession
from executors.spark.steps import Program, run_programs
from executors.verdicts import BAD, FILE, RECORD
from ir.pipeline import Path

VALUES = "file int, record long, value string"
"""The schema of what comes back: where the row stands, and the expression's value as text."""


def evaluate(session: RunSession, path: Path, reading: Reading, column: str) -> dict[tuple[int, int], str | None]:
    """The value of a working column for each row that can be read, by its place. They are few enough to be held.

    Raises what `compile_path` raises, and Terminal `expression.failed` where a value cannot be computed.
    """
    compiled = compile_path(session, path, reading.fields)
    groups = group_parts(reading.parts, MOST_TASKS)
    reader = ReadTask(reading.reader, groups, compiled.source, compiled.read)
    task = _Values(compiled.sink_columns()[column], compiled.sink_programs())
    with translate(path.target.id, compiled.expressions):
        frame = frame_of_rows(frame_of_numbers(session.start(), len(groups)), reader, compiled)
        rows = run_job(map_task(frame, UnpackTask(task, tuple(frame.columns[1:])), VALUES))
    return {(row["file"], row["record"]): row["value"] for row in rows}


@dataclass(frozen=True, slots=True)
class _Values:
    """Gives one column of rows as text, with their places."""

    column: str
    programs: tuple[Program, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            readable = batch.filter(pc.is_null(batch.column(BAD)))
            values = canonical_text(run_programs(readable, self.programs).column(self.column))
            yield pa.RecordBatch.from_arrays(
                [readable.column(FILE), readable.column(RECORD), values.cast(pa.string())], ["file", "record", "value"]
            )
