"""The one pass: reader, ops and sink as one Spark job with exactly one action."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession

from executors.model import PassResult, RulePlan, SourceField, Split, StageColumn
from executors.postgres.staging import StagingTables
from ir.pipeline import Path


@dataclass(frozen=True, slots=True)
class PassPlan:
    """All that one pass needs to know. `sealed_connection` comes from `executors.secrets.seal`."""

    path: Path
    fields: tuple[SourceField, ...]
    splits: tuple[Split, ...]
    stage_columns: tuple[StageColumn, ...]
    rules: tuple[RulePlan, ...]
    on_type_mismatch: str
    tables: StagingTables
    sealed_connection: str
    run_id: str


def run_pass(session: SparkSession, plan: PassPlan, *, fused: bool | None = None) -> PassResult:
    """Read, transform, judge and stage; return what the winning tasks did.

    With `fused` the sink's task reads its own split, which works for paths without expressions and is then the default.
    """
    raise NotImplementedError
