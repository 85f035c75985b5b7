"""The one pass: reader, ops and sink as one Spark job with exactly one action."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, BooleanType, IntegerType, LongType, StructField, StructType

from executors.charsets import UTF8, Charset
from executors.destinations.base import StagingArea
from executors.errors import ExpressionFailed, Terminal, Transient
from executors.model import PassResult, RulePlan, StageColumn
from executors.reading import Reading
from executors.spark.batch_passthrough import BATCH, PACKED_BATCH, ROW, UNREADABLE, PackTask, UnpackTask
from executors.spark.columns import mask_rejected
from executors.spark.compiled import Compiled, Deduplicate, Derive, ExcludeRejected, RunPrograms, Stage
from executors.spark.computing import ComputeTask, computable
from executors.spark.errors import translate
from executors.spark.exclude_rejected import ExcludeRejectedTask
from executors.spark.first_failing import FirstFailing
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.reader import ReadTask, group_parts
from executors.spark.session import RunSession
from executors.spark.sink import COUNTS, FusedTask, SinkTask, decode_counts
from executors.spark.steps import ProgramsTask, outputs_of
from executors.spark.types import spark_type
from executors.validation import FILE, RECORD, FailedFlag, ValidationPlan
from ir.pipeline import Path

MOST_TASKS = 16
"""Tasks of a pass, and so connections to a target, whatever the size of the cluster."""


Way = Literal["fused", "through_spark"]
"""In tasks that read and stage, or with the JVM between reading and staging."""


@dataclass(frozen=True, slots=True)
class PassPlan:
    """All that one pass needs to know. `compiled` is the path, compiled over the fields of the reading;
    `staging` is where rows go, `now` is the run's clock, `charset` that
    of the target's database."""

    path: Path
    reading: Reading
    compiled: Compiled
    stage_columns: tuple[StageColumn, ...]
    rules: tuple[RulePlan, ...]
    on_type_mismatch: Literal["abort", "skip", "null"]
    staging: StagingArea
    run_id: str
    charset: Charset = UTF8
    now: datetime = field(default_factory=lambda: datetime.now(UTC))


def run_pass(session: RunSession, plan: PassPlan, *, way: Way | None = None) -> PassResult:
    """Read, transform, validate and stage; return what the winning tasks did.

    Reader and sink are the same either `way`; the shortest that serves is taken, and tests take each of them.
    Raises what reading and the target's connection raise, and what `translate` tells of Spark.
    """
    if not plan.reading.parts:
        return PassResult(())
    reader, sink = _ends(plan)
    stages = computable(plan.compiled)
    near = ComputeTask(reader, stages) if stages else reader
    if (way or _way_of(stages)) == "fused":
        with translate(plan.path.target.id):
            numbers = frame_of_numbers(session.start(), len(reader.groups))
            rows = run_job(map_task(numbers, FusedTask(near, sink), COUNTS))
    else:
        rows = _run_masking_rejected(session, plan)
    return _result_of(rows)


def _way_of(stages: object | None) -> Way:
    return "through_spark" if stages is None else "fused"


def _result_of(rows: Iterable[dict[str, Any]]) -> PassResult:
    return PassResult(tuple(decode_counts(row["counts"]) for row in rows))


def _ends(plan: PassPlan) -> tuple[ReadTask, SinkTask]:
    compiled = plan.compiled
    groups = group_parts(plan.reading.parts, MOST_TASKS)
    sink = SinkTask(_validation_plan(plan, compiled), compiled.sink_programs(), compiled.keeps, plan.staging)
    return ReadTask(plan.reading.reader, groups, compiled.source, compiled.read), sink


def _run_masking_rejected(session: RunSession, plan: PassPlan) -> list[dict[str, Any]]:
    """An expression that fails for rows alone which are rejected anyway does not end the run: then all is done once
    more without asking it of them. What the first try has staged is that of no winning task."""
    session.check()
    try:
        return _run_through_spark(session, plan)
    except ExpressionFailed as failure:
        if plan.compiled.moves_rows:
            raise
        masked = mask_rejected(session, plan.path, plan.reading.fields, plan.compiled)
        session.check()  # an interruption ends what is at work in Spark, and between two jobs nothing is
        if masked is None:
            raise _located(session, plan, failure) from None
    plan = replace(plan, compiled=masked)
    try:
        return _run_through_spark(session, plan)
    except ExpressionFailed as failure:
        raise _located(session, plan, failure) from None


def _located(session: RunSession, plan: PassPlan, failure: ExpressionFailed) -> ExpressionFailed:
    """An expression's failure with the first row that it is one of, which is staged as a rejected one."""
    names = {origin.seq: origin.name for origin in plan.reading.origins}
    frames = partial(frame_of_rows, compiled=plan.compiled, plan=plan)
    reader, _ = _ends(plan)
    node, expressions = plan.path.target.id, plan.compiled.expressions
    if (found := FirstFailing(session, reader, frames, node, expressions, names).find()) is None:
        return failure
    failure, row = found
    # What keeps the row from being staged is no news beside why the run ends.
    with suppress(Transient, Terminal):
        failure.staged = _stage_rejected(session, plan, failure, row)
    return failure


def _stage_rejected(session: RunSession, plan: PassPlan, failure: ExpressionFailed, row: ReadTask) -> PassResult:
    node = plan.path.target.id
    flag = FailedFlag("_flow_failed", failure.node or node, failure.column, failure.why)
    validate = replace(_validation_plan(plan, plan.compiled), stage_columns=(), rules=(), flags=(flag,))
    sink = SinkTask(validate, (), (), plan.staging)
    with translate(node):
        frame = map_task(frame_of_numbers(session.start(), 1), FusedTask(_Flagged(row, flag), sink), COUNTS)
        return _result_of(run_job(frame))


@dataclass(frozen=True, slots=True)
class _Flagged:
    """Reads rows that all have a flag."""

    reader: ReadTask
    flag: FailedFlag

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.reader(numbers):
            yield batch.append_column(self.flag.column, pa.array([True] * batch.num_rows, pa.bool_()))


def _run_through_spark(session: RunSession, plan: PassPlan) -> list[dict[str, Any]]:
    reader, sink = _ends(plan)
    numbers = frame_of_numbers(session.start(), len(reader.groups))
    with translate(plan.path.target.id, plan.compiled.expressions):
        return run_job(_through_spark(numbers, reader, sink, plan))


def _validation_plan(plan: PassPlan, compiled: Compiled) -> ValidationPlan:
    """`compiled` is the path, or as much of it as is to be validated."""
    return ValidationPlan(
        run_id=plan.run_id,
        source=plan.path.source.id,
        target=plan.path.target.id,
        files={origin.seq: (origin.sha256, origin.name) for origin in plan.reading.origins},
        row_columns={field.name: column for column, field in compiled.source},
        working=compiled.sink_columns(),
        stage_columns=plan.stage_columns,
        rules=tuple(
            replace(rule, applies=columns.applies, value=columns.value)
            for rule, columns in zip(plan.rules[: len(compiled.rules)], compiled.rules, strict=True)
        ),
        flags=compiled.sink_flags(),
        on_type_mismatch=plan.on_type_mismatch,
        on_bad_row=plan.reading.on_bad_row,
        now=plan.now,
        charset=plan.charset,
    )


def _through_spark(numbers: DataFrame, reader: ReadTask, sink: SinkTask, plan: PassPlan) -> DataFrame:
    frame = frame_of_rows(numbers, reader, plan.compiled, plan)
    return map_task(frame, UnpackTask(sink, tuple(frame.columns[1:])), COUNTS)


def frame_of_rows(numbers: DataFrame, reader: ReadTask, compiled: Compiled, plan: PassPlan | None = None) -> DataFrame:
    """Parcels of whole batches, and beside them, row by row, what the stages have computed. A path with rules needs
    the `plan` that they are validated by."""
    positions = _POSITIONS if compiled.moves_rows else ()
    schema = StructType([*_PACKED, *_schema(compiled, compiled.needed), *positions])
    frame = map_task(numbers, PackTask(reader, compiled.needed, compiled.moves_rows), schema)
    for stage in compiled.stages:
        frame = _add(frame, stage, compiled, len(reader.groups), plan)
    return frame.select(PACKED_BATCH, *compiled.computed())


_PACKED = (StructField(PACKED_BATCH, BinaryType()), StructField(UNREADABLE, BooleanType()))
_POSITIONS = (
    StructField(BATCH, LongType()),
    StructField(ROW, IntegerType()),
    StructField(FILE, IntegerType()),
    StructField(RECORD, LongType()),
)


def _add(frame: DataFrame, stage: Stage, compiled: Compiled, tasks: int, plan: PassPlan | None) -> DataFrame:
    match stage:
        case Derive(columns):
            return frame.select("*", *(F.expr(sql).alias(name) for name, sql in columns))
        case RunPrograms(programs):
            added = _schema(compiled, outputs_of(programs))
            return map_task(frame, ProgramsTask(programs), StructType([*frame.schema.fields, *added]))
        case Deduplicate():
            return _flag_last(frame, stage, tasks).repartition(tasks, BATCH).sortWithinPartitions(BATCH, ROW)
        case ExcludeRejected() if plan is not None:
            return _exclude_rejected(frame, stage, plan)
    raise LookupError(f"no validation plan for the rules before {stage}")


def _exclude_rejected(frame: DataFrame, stage: ExcludeRejected, plan: PassPlan) -> DataFrame:
    so_far = stage.so_far
    task = ExcludeRejectedTask(
        _validation_plan(plan, so_far), so_far.sink_programs(), tuple(so_far.computed()), stage.out
    )
    return map_task(frame, task, StructType([*frame.schema.fields, StructField(stage.out, BooleanType())]))


def _flag_last(frame: DataFrame, stage: Deduplicate, tasks: int) -> DataFrame:
    by = [F.expr(stage.eligible), *map(F.col, stage.keys)]
    first = [F.col(stage.order_by).desc_nulls_last()] if stage.order_by else []
    by_key = Window.partitionBy(*by).orderBy(*first, F.col(FILE).desc(), F.col(RECORD).desc())
    is_last = F.expr(stage.eligible) & (F.row_number().over(by_key) == 1)
    # By as many tasks, and so connections to the target, as without; the window needs no other order of rows.
    spread = frame.repartition(tasks, *by)
    keep = is_last | F.expr(stage.masked)
    if stage.tie is None:
        return spread.withColumn(stage.keep, keep)
    values, equals = F.struct(*map(F.col, stage.tie.compared)), Window.partitionBy(*by, stage.tie.order_by)
    is_top = F.expr(stage.eligible) & (F.rank().over(Window.partitionBy(*by).orderBy(*first)) == 1)
    tied = is_top & (F.min(values).over(equals) != F.max(values).over(equals))
    return spread.withColumn(stage.tie.column, tied).withColumn(stage.keep, keep | F.col(stage.tie.column))


def _schema(compiled: Compiled, names: Iterable[str]) -> list[StructField]:
    return [StructField(name, spark_type(compiled.frame[name])) for name in names]
