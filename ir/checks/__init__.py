"""Dataset checks, which the staged rows must satisfy together: one file for each kind, and the table of kinds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ir.annotations import OneOrMany
from ir.base import Spec
from ir.checks.base import Check
from ir.checks.cardinality import Cardinality
from ir.checks.custom_sql import CustomSql
from ir.checks.distinct_ratio import DistinctRatio
from ir.checks.duplicate_key import DuplicateKey
from ir.checks.fk_integrity import FkIntegrity
from ir.checks.freshness import Freshness
from ir.checks.mean import Mean
from ir.checks.null_rate import NullRate
from ir.checks.row_count import RowCount
from ir.checks.schema_match import SchemaMatch
from ir.checks.sum import Sum
from ir.checks.unique import Unique
from ir.kinds import KindTable

CHECK_KINDS = (
    RowCount,
    Freshness,
    FkIntegrity,
    Cardinality,
    DuplicateKey,
    Unique,
    Sum,
    Mean,
    DistinctRatio,
    NullRate,
    SchemaMatch,
    CustomSql,
)
CHECKS: KindTable[type[Check]] = KindTable("dataset check", ((kind.kind, kind) for kind in CHECK_KINDS))


def _of(check: type[Check]) -> Any:
    """Return an optional field for checks of a kind, with the kind's title and description."""
    schema = check.model_json_schema()
    return Field(None, title=schema["title"], description=schema["description"].partition("\n")[0])


class DatasetLevel(Spec):
    """What all staged rows together must satisfy before they are loaded. Each key holds one check or a list."""

    row_count: Annotated[RowCount | list[RowCount], OneOrMany()] | None = _of(RowCount)
    freshness: Annotated[Freshness | list[Freshness], OneOrMany()] | None = _of(Freshness)
    fk_integrity: Annotated[FkIntegrity | list[FkIntegrity], OneOrMany()] | None = _of(FkIntegrity)
    cardinality: Annotated[Cardinality | list[Cardinality], OneOrMany()] | None = _of(Cardinality)
    duplicate_key: Annotated[DuplicateKey | list[DuplicateKey], OneOrMany()] | None = _of(DuplicateKey)
    unique: Annotated[Unique | list[Unique], OneOrMany()] | None = _of(Unique)
    sum: Annotated[Sum | list[Sum], OneOrMany()] | None = _of(Sum)
    mean: Annotated[Mean | list[Mean], OneOrMany()] | None = _of(Mean)
    distinct_ratio: Annotated[DistinctRatio | list[DistinctRatio], OneOrMany()] | None = _of(DistinctRatio)
    null_rate: Annotated[NullRate | list[NullRate], OneOrMany()] | None = _of(NullRate)
    schema_match: Annotated[SchemaMatch | list[SchemaMatch], OneOrMany()] | None = _of(SchemaMatch)
    custom_sql: Annotated[CustomSql | list[CustomSql], OneOrMany()] | None = _of(CustomSql)

    def checks(self) -> list[tuple[str, Check]]:
        """Yield all checks as (kind in the document's spelling, check), in the order of the kinds."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return [
            (check.kind, check)
            for value in values
            if value is not None
            for check in (value if isinstance(value, list) else [value])
        ]


__all__ = [
    "CHECKS",
    "CHECK_KINDS",
    "Cardinality",
    "Check",
    "CustomSql",
    "DatasetLevel",
    "DistinctRatio",
    "DuplicateKey",
    "FkIntegrity",
    "Freshness",
    "Mean",
    "NullRate",
    "RowCount",
    "SchemaMatch",
    "Sum",
    "Unique",
]
