"""Small jobs that ask the executors something."""

from __future__ import annotations

from pyspark.sql import SparkSession


def warm_workers(session: SparkSession) -> None: ...
