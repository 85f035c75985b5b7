"""Dataset checks: what the staged rows as a whole must satisfy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ir.annotations import OneOrMany
from ir.base import PositiveNumber, Spec
from ir.bounds import check_bounds
from ir.diagnostics import Diagnostic
from ir.kinds import KindTable
from ir.names import check_identifier, check_repeated, check_table_name
from ir.pointers import Pointer


class Check(Spec):
    """What all checks share. `kind` is the key that holds them in a document."""

    kind: ClassVar[str]
    on_fail: Literal["abort", "warn"]

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "check", self.kind, at

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        """The columns of the rows that it looks at, and where it names them."""
        yield from ()


class OneColumn(Check):
    """A check of one column."""

    column: str

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        yield self.column, at / "column"


class RowCount(Check):
    """The number of staged rows lies within the bounds."""

    kind = "rowCount"
    min: Annotated[int, Field(ge=0)] | None = None
    max: Annotated[int, Field(ge=0)] | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_bounds(self.min, self.max, at)


class Freshness(OneColumn):
    """The newest value of a column is at most so many hours old."""

    kind = "freshness"
    within_hours: PositiveNumber


class FkIntegrity(OneColumn):
    """Every value that is not NULL stands in the reference column."""

    kind = "fkIntegrity"
    ref_table: str
    ref_column: str

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_table_name(self.ref_table, at / "refTable", writes=False)
        yield from check_identifier(self.ref_column, at / "refColumn", "column")


class Cardinality(OneColumn):
    """The number of distinct values lies within the bounds."""

    kind = "cardinality"
    min_distinct: Annotated[int, Field(ge=0)] | None = None
    max_distinct: Annotated[int, Field(ge=0)] | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_bounds(self.min_distinct, self.max_distinct, at, ("minDistinct", "maxDistinct"))


class DuplicateKey(Check):
    """No two rows share these columns."""

    kind = "duplicateKey"
    columns: Annotated[list[str], Field(min_length=1)]

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_repeated(self.columns, at / "columns")

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        for i, column in enumerate(self.columns):
            yield column, at / "columns" / i


CHECK_KINDS = (RowCount, Freshness, FkIntegrity, Cardinality, DuplicateKey)
CHECKS: KindTable[type[Check]] = KindTable("dataset check", ((kind.kind, kind) for kind in CHECK_KINDS))


class DatasetLevel(Spec):
    """Checks by kind; each key holds one check or a list of them."""

    row_count: Annotated[RowCount | list[RowCount], OneOrMany()] | None = None
    freshness: Annotated[Freshness | list[Freshness], OneOrMany()] | None = None
    fk_integrity: Annotated[FkIntegrity | list[FkIntegrity], OneOrMany()] | None = None
    cardinality: Annotated[Cardinality | list[Cardinality], OneOrMany()] | None = None
    duplicate_key: Annotated[DuplicateKey | list[DuplicateKey], OneOrMany()] | None = None

    def checks(self) -> list[tuple[str, Check]]:
        """All checks as (kind in the document's spelling, check), in the order of the kinds."""
        values = (getattr(self, name) for name in type(self).model_fields)
        return [
            (check.kind, check)
            for value in values
            if value is not None
            for check in (value if isinstance(value, list) else [value])
        ]
