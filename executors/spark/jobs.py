"""Where tasks run: as a Spark job, or, when there is too little to do for one, in this process.

A task is a plain callable from batches to batches. One that takes no frame's rows is given the number of its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from executors.formats.closing import closed_after
from executors.spark.address import is_local
from executors.spark.errors import marking

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

FEW_BYTES = 1 << 20
"""Up to here a job costs more than the work of a pass, and no more rows than these are ever held beside Spark."""
FEW_RECORDS = 1 << 17
"""Up to here too: few bytes can hold many records where they are compressed."""


def frame_of_numbers(session: SparkSession, numbers: int, most_tasks: int | None = None) -> DataFrame:
    """One row for each number from 0 on, in tasks of their own or, where there are more, shared among the tasks."""
    return session.range(0, numbers, 1, min(numbers, most_tasks or numbers))


def map_task(frame: DataFrame, task: Task, schema: StructType | str) -> DataFrame:
    return frame.mapInArrow(MarkingTask(task), schema)


def run_job(frame: DataFrame) -> list[dict[str, Any]]:
    """The frame's rows, which are few. The one action on a frame."""
    return [row.asDict() for row in frame.collect()]


def run_here(task: Task, tasks: int) -> list[dict[str, Any]]:
    """What a job of so many tasks would give, done in this process. Failures come as they are raised."""
    numbers = pa.RecordBatch.from_arrays([pa.array(range(tasks), pa.int64())], ["id"])
    with closed_after(task(iter([numbers]))) as batches:
        return [row for batch in batches for row in batch.to_pylist()]


def is_for_here(size: int, records: int = 0) -> bool:
    """Whether so many bytes, and records as far as they are known, are too few for a job. Where Spark is elsewhere,
    only Spark is sure to see the source."""
    return is_local() and size <= FEW_BYTES and records <= FEW_RECORDS


@dataclass(frozen=True, slots=True)
class WatchedTask:
    """Lets work in this process end between two batches when its run is interrupted: `watch` is its session's."""

    task: Task
    watch: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.watch(self.task(batches))


@dataclass(frozen=True, slots=True)
class MarkingTask:
    """Lets failures of ours leave a Spark task in a form that the driver can read."""

    task: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marking():
            yield from self.task(batches)
