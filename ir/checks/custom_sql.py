"""`customSql`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ConfigDict, Field

from ir.base import Text
from ir.checks.base import Check
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer
from ir.queries import check_query

STAGED = "input"
"""The name under which a query finds the staged rows, with the columns of the target."""


class CustomSql(Check):
    """A query over the staged rows returns no rows. It also runs if there are no staged rows."""

    model_config = ConfigDict(title="Custom SQL")

    kind = "customSql"
    sketch = "{query}"
    query: Text = Field(
        description="One SELECT over input, the staged rows, that returns the wrong rows. Write other tables with "
        "their "
        "schema.",
        examples=["SELECT * FROM input WHERE total < 0"],
        json_schema_extra={"multiline": True},
    )
    message: Text | None = Field(None, description="What it means if the query returns rows.")

    @property
    def subject(self) -> str:
        return self.message or ""

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_query(self.query, at / "query", given=(STAGED,))

    def names(self) -> dict[str, str]:
        return {"query": self.query}
