"""The writing end of a pass: finishes the columns, validates the rows, stages them and reports one row of counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext

from executors.destinations.base import StageWriter, StagingArea
from executors.formats.batches import take_trailers
from executors.formats.closing import closed_after
from executors.model import RecordRef, RuleCount, TaskCount
from executors.spark.steps import Program, run_programs
from executors.types import wire_type
from executors.validation import FILE, RECORD, Tally, ValidationPlan, validate

if TYPE_CHECKING:
    from executors.spark.jobs import Task

COUNTS = "task long, counts string"
"""The schema of a sink's one row."""


@dataclass(frozen=True, slots=True)
class SinkTask:
    """Stages the rows of one task, but for those that filters took. They are committed before the row of counts is
    given out. `keeps` is that of `Compiled`.

    Never raises for data; raises what the target's connection raises.
    """

    plan: ValidationPlan
    programs: tuple[Program, ...]
    keeps: tuple[tuple[str, str], ...]
    staging: StagingArea

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context, tally = TaskContext.get(), Tally()
        task = context.taskAttemptId() if context else 0
        with closed_after(batches), self.staging.open(self._good_schema(), task) as writer:
            for batch in batches:
                rows, parts = take_trailers(batch)
                tally.add_read(parts)
                self._write(writer, tally, rows)
            writer.commit()
        yield encode_counts(tally.finish(task))

    def _write(self, writer: StageWriter, tally: Tally, batch: pa.RecordBatch) -> None:
        evaluated = validate(run_programs(self._filter(tally, batch), self.programs), self.plan)
        tally.add(evaluated)
        if evaluated.good.num_rows:
            writer.write_good(evaluated.good)
        if evaluated.rejects.num_rows:
            writer.write_rejects(evaluated.rejects)

    def _filter(self, tally: Tally, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.num_rows
        for node, column in self.keeps:
            remaining = batch.column(column).true_count
            tally.filtered_at[node] += rows - remaining
            rows = remaining
        return batch.filter(batch.column(self.keeps[-1][1])) if self.keeps else batch

    def _good_schema(self) -> pa.Schema:
        columns = {FILE: pa.int32(), RECORD: pa.int64()}
        return pa.schema({**columns, **{c.name: wire_type(c.type).arrow for c in self.plan.stage_columns}})


@dataclass(frozen=True, slots=True)
class FusedTask:
    """Reads and stages in one task: rows never enter the JVM."""

    reader: Task
    sink: SinkTask

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.sink(self.reader(numbers))


def encode_counts(counts: TaskCount) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {"task": pa.array([counts.task], pa.int64()), "counts": pa.array([json.dumps(asdict(counts))])}
    )


def decode_counts(text: str) -> TaskCount:
    values = json.loads(text)
    rules = tuple(
        RuleCount(**{**rule, "first": tuple(RecordRef(**ref) for ref in rule["first"])}) for rule in values["rules"]
    )
    return TaskCount(**{**values, "rules": rules})
