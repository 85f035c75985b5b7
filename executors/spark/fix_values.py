"""Evaluates one expression for rejected rows, row by row, without staging rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import ExpressionFailed, Terminal
from executors.grammar import canonical_text
from executors.reading import Part, Reading
from executors.spark.batch_passthrough import UnpackTask
from executors.spark.columns import compile_path
from executors.spark.compiled import Compiled
from executors.spark.errors import translate
from executors.spark.first_failing import FirstFailing
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.one_pass import MOST_TASKS, frame_of_rows
from executors.spark.reader import ReadTask, group_parts
from executors.spark.session import RunSession
from executors.spark.steps import Program, run_programs
from executors.validation import BAD, FILE, RECORD
from ir.pipeline import Path

VALUES = "file int, record long, value string"
"""The schema of the result: the position of the row, and the value of the expression as text."""

Values = dict[tuple[int, int], str | None]
"""The values of the expression by file and record."""

MOST_BYTES = 1 << 20
"""The largest size of values in memory at once."""
TOO_MUCH = "fix.too_much"


def evaluate(session: RunSession, path: Path, reading: Reading, column: str) -> Iterator[Values]:
    """Yield the values of a working column for all readable rows, in portions of at most `MOST_BYTES`.

    Raises the errors of `compile_path`, Cancelled if the run is interrupted, ExpressionFailed if a value cannot be
    computed, and Terminal `fix.too_much` if the values of one part exceed `MOST_BYTES`.
    """
    evaluation = _Evaluation(session, path, reading, column, compile_path(session, path, reading.fields))
    for first in range(0, len(reading.parts), MOST_TASKS):
        session.check()
        yield from evaluation.of(reading.parts[first : first + MOST_TASKS])


@dataclass(frozen=True, slots=True)
class _Evaluation:
    session: RunSession
    path: Path
    reading: Reading
    column: str
    compiled: Compiled

    def of(self, parts: Sequence[Part]) -> Iterator[Values]:
        """Yield the values of all parts at once, or of one part after the other if they are too large."""
        try:
            yield self._evaluate(parts)
        except Terminal as failure:
            if failure.code != TOO_MUCH or len(parts) == 1:
                raise
            for part in parts:
                self.session.check()
                yield self._evaluate([part])

    def _evaluate(self, parts: Sequence[Part]) -> Values:
        node, compiled = self.path.target.id, self.compiled
        groups = group_parts(parts, MOST_TASKS)
        reader = ReadTask(self.reading.reader, groups, compiled.source, compiled.read)
        frames = partial(frame_of_rows, compiled=compiled)
        task = _Values(compiled.sink_columns()[self.column], compiled.sink_programs(), MOST_BYTES // len(groups))
        try:
            with translate(node, compiled.expressions):
                frame = frames(frame_of_numbers(self.session.start(), len(groups)), reader)
                rows = run_job(map_task(frame, UnpackTask(task, tuple(frame.columns[1:])), VALUES))
        except ExpressionFailed as failure:
            names = {origin.seq: origin.name for origin in self.reading.origins}
            first = FirstFailing(self.session, reader, frames, node, compiled.expressions, names)
            raise first.locate(failure) from None
        return {(row["file"], row["record"]): row["value"] for row in rows}


@dataclass(frozen=True, slots=True)
class _Values:
    """Returns one column of the rows as text, with their positions, up to `most_bytes`."""

    column: str
    programs: tuple[Program, ...]
    most_bytes: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        taken = 0
        for batch in batches:
            readable = batch.filter(pc.is_null(batch.column(BAD)))
            values = canonical_text(run_programs(readable, self.programs).column(self.column))
            found = pa.RecordBatch.from_arrays(
                [readable.column(FILE), readable.column(RECORD), values.cast(pa.string())], ["file", "record", "value"]
            )
            taken += found.nbytes
            if taken > self.most_bytes:
                raise Terminal(
                    TOO_MUCH,
                    f"The expression returns more than {self.most_bytes >> 10:,} kB of values at once.",
                    hint="Nothing was changed. Select fewer rows, or return shorter values.",
                )
            yield found
