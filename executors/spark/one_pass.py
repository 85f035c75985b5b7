"""The pass: reader, ops and sink run as one Spark job with exactly one action. A load stages the rows; a preview uses
another sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, BooleanType, IntegerType, LongType, StructField, StructType

from executors.charsets import UTF8, Charset
from executors.destinations.base import StagingArea
from executors.errors import ExpressionFailed, Terminal, Transient
from executors.formats.files import SPLIT_BYTES
from executors.model import PassResult, RulePlan, StageColumn
from executors.reading import Reading
from executors.spark.aggregates import add_groups
from executors.spark.batch_passthrough import BATCH, PACKED_BATCH, ROW, UNREADABLE, PackTask, UnpackTask
from executors.spark.columns import mask_rejected
from executors.spark.compiled import (
    Aggregate,
    Compiled,
    Deduplicate,
    Derive,
    ExcludeRejected,
    Join,
    Reference,
    RunPrograms,
    Stage,
    Window,
    moves_rows,
)
from executors.spark.computing import ComputeTask, computable
from executors.spark.errors import translate
from executors.spark.exclude_rejected import ExcludeRejectedTask
from executors.spark.exploding import Explode, WholeRecordsTask
from executors.spark.first_failing import FirstFailing
from executors.spark.jobs import Task, frame_of_numbers, map_task, run_job
from executors.spark.joins import add_join, unique_keys
from executors.spark.reader import ReadTask, group_parts
from executors.spark.references import reference_read, reference_schema, reference_task
from executors.spark.session import RunSession
from executors.spark.sink import COUNTS, Evaluation, FusedTask, SinkTask, decode_counts
from executors.spark.steps import ProgramsTask
from executors.spark.types import spark_type
from executors.spark.windows import add_window
from executors.validation import FILE, RECORD, FailedFlag, GroupColumns, ValidationPlan
from ir.pipeline import Path

MOST_TASKS = 16
"""The largest number of tasks of a pass, and so of connections to a target, whatever the size of the cluster."""
ROWS_PER_TASK = 250_000
"""A task and its connection cost more than some hundred small files, so files with fewer rows share a task. Their bytes
count too, because rows may be long; compressed files have many rows in few bytes."""


Way = Literal["fused", "through_spark"]
"""`fused`: each task reads, computes and writes. `through_spark`: rows pass through the JVM between reader and sink."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """The plan of a pass without its sink. `compiled` is the path, compiled over the fields of the reading; `now` is
    the time of the run, `charset` the encoding of the target database. `is_united` means that the target also gets the
    rows of other passes."""

    path: Path
    reading: Reading
    compiled: Compiled
    stage_columns: tuple[StageColumn, ...]
    rules: tuple[RulePlan, ...]
    on_type_mismatch: Literal["abort", "skip", "null"]
    run_id: str
    charset: Charset = UTF8
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    is_united: bool = False


@dataclass(frozen=True, slots=True)
class Sink:
    """The sink of a pass: a function that makes its task, and the schema of the task's result. The task is made again
    if the path is compiled again."""

    task: Callable[[Evaluation, Compiled], Task]
    schema: str


def run_pass(session: RunSession, plan: PassPlan, staging: StagingArea, *, way: Way | None = None) -> PassResult:
    """Read, transform, validate and stage. Returns the results of the successful tasks.

    Raises the errors of reading, of the target's connection and of `translate`. A row for which an expression fails is
    staged as a rejected row.
    """
    sink = Sink(lambda evaluation, compiled: SinkTask(evaluation, staging), COUNTS)
    try:
        return _result_of(collect_pass(session, plan, sink, way=way), plan)
    except FailedRow as failed:
        # An error in staging the row must not hide the error that ends the run.
        with suppress(Transient, Terminal):
            failed.failure.staged = _stage_rejected(session, plan, staging, failed)
        raise failed.failure from None


class FailedRow(Exception):
    """An expression failed for the row that `row` reads, the first such row of the source."""

    def __init__(self, failure: ExpressionFailed, row: ReadTask) -> None:
        super().__init__(failure.message)
        self.failure, self.row = failure, row


def collect_pass(session: RunSession, plan: PassPlan, sink: Sink, *, way: Way | None = None) -> list[dict[str, Any]]:
    """Read, transform and pass the rows to the sink. Returns the results of its tasks.

    Both values of `way` use the same reader and sink. By default the faster one that supports the path is used; tests
    select each of them. Raises FailedRow, and the errors of `run_pass`.
    """
    if not plan.reading.parts:
        return []
    reader, taker = _reader(plan), _taker(plan, sink)
    stages = computable(plan.compiled)
    near = ComputeTask(reader, stages) if stages else reader
    if (way or _way_of(stages)) == "fused":
        with translate(plan.path.target.id):
            numbers = frame_of_numbers(session.start(), len(reader.groups))
            return run_job(map_task(numbers, FusedTask(near, taker), sink.schema))
    return _run_masking_rejected(session, plan, sink)


def _way_of(stages: object | None) -> Way:
    return "through_spark" if stages is None else "fused"


def _result_of(rows: Iterable[dict[str, Any]], plan: PassPlan) -> PassResult:
    references = {join.reference.id: reference_read(join.reference.reading) for join in plan.compiled.joins}
    return PassResult(tuple(decode_counts(row["counts"]) for row in rows), references)


def _reader(plan: PassPlan) -> ReadTask:
    groups = group_parts(plan.reading.parts, tasks_for(plan.reading))
    return ReadTask(plan.reading.reader, groups, plan.compiled.source, plan.compiled.read)


def tasks_for(reading: Reading) -> int:
    """Return the largest number of tasks that read a source."""
    if reading.size is None or reading.records is None:
        return MOST_TASKS
    return min(MOST_TASKS, 1 + max(reading.size // SPLIT_BYTES, reading.records // ROWS_PER_TASK))


def _taker(plan: PassPlan, sink: Sink) -> Task:
    compiled = plan.compiled
    matches = tuple((join.key, join.match) for join in compiled.joins)
    evaluation = Evaluation(
        _validation_plan(plan, compiled),
        compiled.sink_programs(),
        compiled.keeps,
        matches,
        compiled.routes,
        compiled.groups,
    )
    task = sink.task(evaluation, compiled)
    return WholeRecordsTask(task) if compiled.explode else task


def _run_masking_rejected(session: RunSession, plan: PassPlan, sink: Sink) -> list[dict[str, Any]]:
    """Run the pass. If an expression fails only for rows that are rejected in any case, run it again without evaluating
    the expression for these rows. Rows that the first attempt staged are ignored, because none of its tasks
    succeeded."""
    session.check()
    try:
        return _run_through_spark(session, plan, sink)
    except ExpressionFailed as failure:
        _refuse_in_reference(plan.path, failure)
        if plan.compiled.moves_rows:
            raise
        masked = mask_rejected(session, plan.path, plan.reading, plan.compiled)
        session.check()  # an interruption only stops active Spark jobs, and between two jobs there is none
        if masked is None:
            raise _located(session, plan, failure) from None
    plan = replace(plan, compiled=masked)
    try:
        return _run_through_spark(session, plan, sink)
    except ExpressionFailed as failure:
        raise _located(session, plan, failure) from None


def _refuse_in_reference(path: Path, failure: ExpressionFailed) -> None:
    """Raise the failure as Terminal if the expression belongs to a reference: no row of the source causes it."""
    if failure.node in path.reference_nodes:
        raise Terminal(failure.code, failure.message, node=failure.node, hint=failure.hint) from None


def _located(session: RunSession, plan: PassPlan, failure: ExpressionFailed) -> FailedRow | ExpressionFailed:
    """Return the failure of an expression with the first row for which it fails, if that row can be found."""
    names = {origin.seq: origin.name for origin in plan.reading.origins}
    frames = partial(frame_of_rows, compiled=plan.compiled, plan=plan)
    node, expressions = plan.path.target.id, plan.compiled.expressions
    found = FirstFailing(session, _reader(plan), frames, node, expressions, names).find()
    return failure if found is None else FailedRow(*found)


def _stage_rejected(session: RunSession, plan: PassPlan, staging: StagingArea, failed: FailedRow) -> PassResult:
    node, failure = plan.path.target.id, failed.failure
    flag = FailedFlag("_flow_failed", failure.node or node, failure.column, failure.why)
    validation = replace(
        _validation_plan(plan, plan.compiled), stage_columns=(), rules=(), flags=(flag,), groups=None, exploded=""
    )
    sink = SinkTask(Evaluation(validation, (), ()), staging)
    with translate(node):
        flagged = _Flagged(_with_all_values(failed.row), flag)
        frame = map_task(frame_of_numbers(session.start(), 1), FusedTask(flagged, sink), COUNTS)
        return _result_of(run_job(frame), plan)


def _with_all_values(reader: ReadTask) -> ReadTask:
    """Return the reader without columns that have values in the first row of a record only."""
    programs = (replace(one, once=()) if isinstance(one, Explode) else one for one in reader.programs)
    return replace(reader, programs=tuple(programs))


@dataclass(frozen=True, slots=True)
class _Flagged:
    """Reads rows and sets a flag for all of them."""

    reader: ReadTask
    flag: FailedFlag

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.reader(numbers):
            yield batch.append_column(self.flag.column, pa.array([True] * batch.num_rows, pa.bool_()))


def _run_through_spark(session: RunSession, plan: PassPlan, sink: Sink) -> list[dict[str, Any]]:
    numbers = frame_of_numbers(session.start(), len(_reader(plan).groups))
    with translate(plan.path.target.id, plan.compiled.expressions):
        return run_job(_through_spark(numbers, plan, sink))


def _validation_plan(plan: PassPlan, compiled: Compiled) -> ValidationPlan:
    """`compiled` is the path, or the part of it that is validated."""
    return ValidationPlan(
        run_id=plan.run_id,
        source=plan.path.source.id,
        target=plan.path.target.id,
        files={origin.seq: (origin.sha256, origin.name) for origin in plan.reading.origins},
        sources={origin.seq: origin.source for origin in plan.reading.origins},
        is_united=plan.is_united,
        row_columns={field.name: column for column, field in compiled.source},
        working=compiled.sink_columns(),
        stage_columns=plan.stage_columns,
        rules=tuple(
            replace(rule, applies=columns.applies, value=columns.value)
            for rule, columns in zip(plan.rules[: len(compiled.rules)], compiled.rules, strict=True)
        ),
        flags=compiled.sink_flags(),
        groups=_group_columns(compiled),
        on_type_mismatch=plan.on_type_mismatch,
        on_bad_row=plan.reading.on_bad_row,
        now=plan.now,
        charset=plan.charset,
        exploded=plan.path.explode[1].field if plan.path.explode else "",
    )


def _group_columns(compiled: Compiled) -> GroupColumns | None:
    groups = compiled.groups
    return GroupColumns(groups.rows, groups.records, groups.values) if groups else None


def _through_spark(numbers: DataFrame, plan: PassPlan, sink: Sink) -> DataFrame:
    frame = frame_of_rows(numbers, _reader(plan), plan.compiled, plan)
    return map_task(frame, unpack_task(_taker(plan, sink), frame, plan.compiled), sink.schema)


def unpack_task(sink: Task, frame: DataFrame, compiled: Compiled) -> UnpackTask:
    """Return the task that unpacks the batches of `frame_of_rows`."""
    return UnpackTask(sink, tuple(frame.columns[1:]), unique_keys(compiled))


def frame_of_rows(numbers: DataFrame, reader: ReadTask, compiled: Compiled, plan: PassPlan | None = None) -> DataFrame:
    """Return a frame of packed batches with one row for each of their rows, and the columns that the stages compute. A
    path with rules needs the `plan` for their validation."""
    positions = tuple(_POSITIONS) if compiled.moves_rows else (ROW,) if compiled.joins else ()
    fields = [StructField(name, _POSITIONS[name]) for name in positions]
    schema = StructType([*_PACKED, *_schema(compiled, compiled.needed), *fields])
    frame = map_task(numbers, PackTask(reader, compiled.needed, positions), schema)
    for number, stage in enumerate(compiled.stages):
        frame = _add(frame, stage, compiled, len(reader.groups), plan)
        if isinstance(stage, Join) and not stage.moves_rows and moves_rows(compiled.stages[:number]):
            # Spark removes the sort before the join, so the rows are sorted again after it.
            frame = frame.sortWithinPartitions(BATCH, ROW)
    return frame.select(PACKED_BATCH, *compiled.computed(), *([ROW] if positions else []))


_PACKED = (StructField(PACKED_BATCH, BinaryType()), StructField(UNREADABLE, BooleanType()))
_POSITIONS = {BATCH: LongType(), ROW: IntegerType(), FILE: IntegerType(), RECORD: LongType()}


def _add(frame: DataFrame, stage: Stage, compiled: Compiled, tasks: int, plan: PassPlan | None) -> DataFrame:
    match stage:
        case Derive(columns):
            return frame.select("*", *(F.expr(sql).alias(name) for name, sql in columns))
        case RunPrograms(programs):
            added = _schema(compiled, (name for program in programs for name in program.outputs))
            return map_task(frame, ProgramsTask(programs), StructType([*frame.schema.fields, *added]))
        case Deduplicate():
            return _in_order(_flag_last(frame, stage, tasks), tasks)
        case Window():
            return _in_order(add_window(frame, stage, tasks), tasks)
        case Aggregate():
            return _in_order(add_groups(frame, stage, tasks), tasks)
        case Join():
            joined = add_join(frame, stage, reference_frame(frame.sparkSession, stage.reference))
            return _in_order(joined, tasks) if stage.moves_rows else joined
        case ExcludeRejected() if plan is not None:
            return _exclude_rejected(frame, stage, plan)
    raise LookupError(f"no validation plan for the rules before {stage}")


def _in_order(frame: DataFrame, tasks: int) -> DataFrame:
    """Restore the rows of each batch and their order."""
    return frame.repartition(tasks, BATCH).sortWithinPartitions(BATCH, ROW)


def reference_frame(spark: SparkSession, reference: Reference) -> DataFrame:
    """Return the rows of a reference with the columns that a join uses."""
    compiled, reading = reference.compiled, reference.reading
    reader = ReadTask(reading.reader, group_parts(reading.parts, tasks_for(reading)), compiled.source, compiled.read)
    task, schema = reference_task(reference), reference_schema(reference)
    numbers, stages = frame_of_numbers(spark, len(reader.groups)), computable(compiled)
    if stages is not None:
        return map_task(numbers, FusedTask(ComputeTask(reader, stages) if stages else reader, task), schema)
    frame = frame_of_rows(numbers, reader, compiled)
    return map_task(frame, unpack_task(task, frame, compiled), schema)


def _exclude_rejected(frame: DataFrame, stage: ExcludeRejected, plan: PassPlan) -> DataFrame:
    so_far = stage.so_far
    task = ExcludeRejectedTask(
        _validation_plan(plan, so_far), so_far.sink_programs(), tuple(so_far.computed()), stage.out
    )
    return map_task(frame, task, StructType([*frame.schema.fields, StructField(stage.out, BooleanType())]))


def _flag_last(frame: DataFrame, stage: Deduplicate, tasks: int) -> DataFrame:
    by = [F.expr(stage.eligible), *map(F.col, stage.keys)]
    first = [F.col(stage.order_by).desc_nulls_last()] if stage.order_by else []
    by_key = SparkWindow.partitionBy(*by).orderBy(*first, F.col(FILE).desc(), F.col(RECORD).desc())
    is_last = F.expr(stage.eligible) & (F.row_number().over(by_key) == 1)
    # The number of tasks, and so of connections to the target, stays the same.
    spread = frame.repartition(tasks, *by)
    keep = is_last | F.expr(stage.masked)
    if stage.tie is None:
        return spread.withColumn(stage.keep, keep)
    values, equals = F.struct(*map(F.col, stage.tie.compared)), SparkWindow.partitionBy(*by, stage.tie.order_by)
    is_top = F.expr(stage.eligible) & (F.rank().over(SparkWindow.partitionBy(*by).orderBy(*first)) == 1)
    tied = is_top & (F.min(values).over(equals) != F.max(values).over(equals))
    return spread.withColumn(stage.tie.column, tied).withColumn(stage.keep, keep | F.col(stage.tie.column))


def _schema(compiled: Compiled, names: Iterable[str]) -> list[StructField]:
    return [StructField(name, spark_type(compiled.frame[name])) for name in names]
