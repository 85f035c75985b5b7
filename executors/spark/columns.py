"""What a path makes of the source's columns, told without reading anything."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession

from executors.model import SourceField
from ir.pipeline import Path


def plan_columns(session: SparkSession, path: Path, fields: Sequence[SourceField]) -> tuple[SourceField, ...]:
    """The working columns, with types, that reach the target after all ops.

    Raises Terminal naming node and op: `column.unknown`, `column.repeated`, `expression.…`, `cast.…`, `fillNull.type` …
    """
    raise NotImplementedError
