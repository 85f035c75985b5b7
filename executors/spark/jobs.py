"""Work as Spark jobs.

A task is a plain callable from batches to batches. One that takes no frame's rows is given the number of its part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from executors.spark.errors import marking

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def frame_of_numbers(session: SparkSession, numbers: int, most_tasks: int | None = None) -> DataFrame:
    """One row for each number from 0 on, in tasks of their own or, where there are more, shared among the tasks."""
    return session.range(0, numbers, 1, min(numbers, most_tasks or numbers))


def map_task(frame: DataFrame, task: Task, schema: StructType | str) -> DataFrame:
    return frame.mapInArrow(MarkingTask(task), schema)


def run_job(frame: DataFrame) -> list[dict[str, Any]]:
    """The frame's rows, which are few. The one action on a frame."""
    return [row.asDict() for row in frame.collect()]


@dataclass(frozen=True, slots=True)
class MarkingTask:
    """Lets failures of ours leave a Spark task in a form that the driver can read."""

    task: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marking():
            yield from self.task(batches)
