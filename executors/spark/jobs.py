"""Runs tasks as Spark jobs.

A task is a callable from batches to batches. A task that reads no rows of a frame gets the numbers of its parts.
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


def frame_of_numbers(session: SparkSession, numbers: int) -> DataFrame:
    """Return a frame with one row for each number from 0. Each number has a task of its own."""
    return session.range(0, numbers, 1, numbers)


def map_task(frame: DataFrame, task: Task, schema: StructType | str) -> DataFrame:
    return frame.mapInArrow(MarkingTask(task), schema)


def run_job(frame: DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame, which must be few. This is the only action on frames."""
    return [row.asDict() for row in frame.collect()]


@dataclass(frozen=True, slots=True)
class MarkingTask:
    """Encodes a Failure of a Spark task so that the driver can decode it."""

    task: Task

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with marking():
            yield from self.task(batches)
