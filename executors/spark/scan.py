"""The scan job: one pass over the bytes of each file, a file per task."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from executors.model import FileScan, SourceFile
from ir.nodes import Source


def scan_files(session: SparkSession, source: Source, files: Sequence[SourceFile]) -> list[FileScan]:
    """Scan files where Spark runs; the answers are small and come in the order asked for.

    Raises what the format raises (`source.changed`, `source.column_missing`, …) and what `translate` tells of Spark.
    """
    raise NotImplementedError
