"""`fkIntegrity`."""

from __future__ import annotations

from collections.abc import Iterator

from ir.checks.base import OneColumn, quoted
from ir.diagnostics import Diagnostic
from ir.names import check_identifier, check_table_name
from ir.pointers import Pointer


class FkIntegrity(OneColumn):
    """Every value that is not NULL stands in the reference column."""

    kind = "fkIntegrity"
    judges_rows = True
    sketch = (
        "SELECT count(*) FROM input AS s WHERE s.{column} IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM {table} AS r WHERE r.{ref_column} = s.{column})"
    )
    ref_table: str
    ref_column: str

    @property
    def subject(self) -> str:
        return f"{self.column} → {self.ref_table}.{self.ref_column}"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_table_name(self.ref_table, at / "refTable", writes=False)
        yield from check_identifier(self.ref_column, at / "refColumn", "column")

    def names(self) -> dict[str, str]:
        return {"column": quoted(self.column), "table": self.ref_table, "ref_column": quoted(self.ref_column)}
