"""`fkIntegrity`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ConfigDict, Field

from ir.checks.base import OneColumn, quoted
from ir.diagnostics import Diagnostic
from ir.names import check_identifier, check_table_name
from ir.pointers import Pointer


class FkIntegrity(OneColumn):
    """Every value exists in a column of another table. NULL passes."""

    model_config = ConfigDict(title="Foreign keys")

    kind = "fkIntegrity"
    validates_rows = True
    sketch = (
        "SELECT count(*) FROM input AS s WHERE s.{column} IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM {table} AS r WHERE r.{ref_column} = s.{column})"
    )
    ref_table: str = Field(
        title="Referenced table",
        description="The other table, as schema.name.",
        examples=["public.customers"],
        json_schema_extra={"suggests": "qualified-tables"},
    )
    ref_column: str = Field(title="Referenced column", description="The column of the other table.", examples=["id"])

    @property
    def subject(self) -> str:
        return f"{self.column} → {self.ref_table}.{self.ref_column}"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_table_name(self.ref_table, at / "refTable", writes=False)
        yield from check_identifier(self.ref_column, at / "refColumn", "column")

    def names(self) -> dict[str, str]:
        return {"column": quoted(self.column), "table": self.ref_table, "ref_column": quoted(self.ref_column)}
