"""The sink of a pass: computes the last columns, validates the rows, stages them and returns one row of counts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from executors.destinations.base import StageWriter, StagingArea
from executors.formats.batches import take_trailers
from executors.formats.closing import closed_after
from executors.model import RecordRef, RuleCount, TaskCount, branch_key
from executors.spark.compiled import Groups, Routes
from executors.spark.steps import Program, run_programs
from executors.types import wire_type
from executors.validation import FILE, RECORD, Evaluated, Records, Tally, ValidationPlan, validate

if TYPE_CHECKING:
    from executors.spark.jobs import Task

COUNTS = "task long, counts string"
"""The schema of the sink's row."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of rows in a pass: removes filtered rows, computes the last columns and validates. `keeps` is that
    of `Compiled`; `matches` are the match columns of joins by the names of the joins. Bad values do not raise
    errors."""

    plan: ValidationPlan
    programs: tuple[Program, ...]
    keeps: tuple[tuple[str, str], ...]
    matches: tuple[tuple[str, str], ...] = ()
    routes: tuple[Routes, ...] = ()
    groups: Groups | None = None

    def evaluate(self, tally: Tally, batch: pa.RecordBatch) -> Evaluated:
        """Evaluate the rows of a batch and count them."""
        if self.plan.exploded:
            return self._evaluate_records(tally, batch)
        self._count(tally, batch)
        kept = batch.filter(batch.column(self.keeps[-1][1])) if self.keeps else batch
        evaluated = validate(run_programs(kept, self.programs), self.plan)
        tally.add(evaluated)
        return evaluated

    def _evaluate_records(self, tally: Tally, batch: pa.RecordBatch) -> Evaluated:
        """Evaluate exploded rows. A rejected record counts as one row, also if some of its rows were filtered."""
        records = Records.in_batch(batch, self.plan.exploded)
        keep = pc.fill_null(batch.column(self.keeps[-1][1]), False).to_numpy(zero_copy_only=False)
        kept = records.where(keep)
        evaluated = validate(run_programs(batch.filter(pa.array(keep)), self.programs), self.plan, kept)
        counted = ~np.isin(records.of, kept.of[~evaluated.alive])
        self._count(tally, batch.filter(pa.array(counted)))
        tally.exploded += int(counted.sum()) - records.count(counted)
        tally.add(evaluated)
        return evaluated

    def _count(self, tally: Tally, batch: pa.RecordBatch) -> None:
        rows = batch.num_rows
        for join, column in self.matches:
            tally.matched_at[join] += batch.column(column).true_count
            tally.unmatched_at[join] += batch.column(column).false_count
        filtered = {route.node: _count_routes(tally, batch, route) for route in self.routes}
        for node, column in self.keeps:
            remaining = batch.column(column).true_count
            gone = rows - remaining
            if self.groups and self.groups.keep == column:
                gone -= _count_grouped(tally, batch, self.groups)
            tally.filtered_at[node] += filtered.get(node, gone)
            tally.elsewhere_at[node] += gone - filtered.get(node, gone)
            rows = remaining


def _count_grouped(tally: Tally, batch: pa.RecordBatch, groups: Groups) -> int:
    """Count the rows of groups except for the rows that represent the groups. Returns their number."""
    arrived = batch.column(groups.before).true_count if groups.before else batch.num_rows
    grouped: int = arrived - batch.column(groups.keep).true_count
    rows = batch.column(groups.rows)
    tally.grouped_at[groups.node] += grouped
    tally.in_groups += (pc.sum(rows).as_py() or 0) - (len(rows) - rows.null_count)
    return grouped


def _count_routes(tally: Tally, batch: pa.RecordBatch, route: Routes) -> int:
    """Count the rows of each branch. Returns the number of rows that the node filters because no branch takes them."""
    found = pc.value_counts(batch.column(route.column)).to_pylist()
    counts = {entry["values"]: entry["counts"] for entry in found}
    for number, reader in enumerate(route.readers):
        tally.routed_at[branch_key(route.node, reader)] += counts.get(number, 0)
    return counts.get(len(route.readers), 0) if route.filters else 0


@dataclass(frozen=True, slots=True)
class SinkTask:
    """Stages the rows of one task, except for filtered ones. They are committed before the counts are returned.

    Bad values do not raise errors. Raises the errors of the target's connection.
    """

    evaluation: Evaluation
    staging: StagingArea

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task, tally = task_number(), Tally()
        with closed_after(batches), self.staging.open(self._good_schema(), task) as writer:
            for batch in batches:
                rows, parts = take_trailers(batch)
                tally.add_read(parts)
                self._write(writer, tally, rows)
            writer.commit()
        yield encode_counts(tally.finish(task))

    def _write(self, writer: StageWriter, tally: Tally, batch: pa.RecordBatch) -> None:
        evaluated = self.evaluation.evaluate(tally, batch)
        if evaluated.good.num_rows:
            writer.write_good(evaluated.good)
        if evaluated.rejects.num_rows:
            writer.write_rejects(evaluated.rejects)

    def _good_schema(self) -> pa.Schema:
        columns = {FILE: pa.int32(), RECORD: pa.int64()}
        stage_columns = self.evaluation.plan.stage_columns
        return pa.schema({**columns, **{c.name: wire_type(c.type).arrow for c in stage_columns}})


def task_number() -> int:
    """Return Spark's number of this attempt at a task."""
    context = TaskContext.get()
    return context.taskAttemptId() if context else 0


@dataclass(frozen=True, slots=True)
class FusedTask:
    """Runs reader and sink in one task, so that rows do not enter the JVM."""

    reader: Task
    sink: Task

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
