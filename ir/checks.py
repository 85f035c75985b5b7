"""Dataset checks: what the staged rows as a whole must satisfy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.base import Spec


class Check(Spec):
    """What all checks share."""

    on_fail: Literal["abort", "warn"]


class RowCount(Check):
    """The number of staged rows lies within the bounds."""

    min: Annotated[int, Field(ge=0)] | None = None
    max: Annotated[int, Field(ge=0)] | None = None


class Freshness(Check):
    """The newest value of a column is at most so many hours old."""

    within_hours: Annotated[int | float, Field(gt=0)]
    column: str


class FkIntegrity(Check):
    """Every value that is not NULL stands in the reference column."""

    column: str
    ref_table: str
    ref_column: str


class Cardinality(Check):
    """The number of distinct values lies within the bounds."""

    column: str
    min_distinct: Annotated[int, Field(ge=0)] | None = None
    max_distinct: Annotated[int, Field(ge=0)] | None = None


class DuplicateKey(Check):
    """No two rows share these columns."""

    columns: Annotated[list[str], Field(min_length=1)]


CHECK_KINDS: dict[str, type[Check]] = {
    "rowCount": RowCount,
    "freshness": Freshness,
    "fkIntegrity": FkIntegrity,
    "cardinality": Cardinality,
    "duplicateKey": DuplicateKey,
}


class DatasetLevel(Spec):
    """Checks by kind; each key holds one check or a list of them."""

    row_count: RowCount | list[RowCount] | None = None
    freshness: Freshness | list[Freshness] | None = None
    fk_integrity: FkIntegrity | list[FkIntegrity] | None = None
    cardinality: Cardinality | list[Cardinality] | None = None
    duplicate_key: DuplicateKey | list[DuplicateKey] | None = None

    def checks(self) -> list[tuple[str, Check]]:
        """All checks as (kind in the document's spelling, check), in the order of the kinds."""
        found: list[tuple[str, Check]] = []
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            for check in value if isinstance(value, list) else [value]:
                if check is not None:
                    found.append((str(field.alias), check))
        return found
