"""`customSql`."""

from __future__ import annotations

from collections.abc import Iterator

from ir.base import Text
from ir.checks.base import Check
from ir.diagnostics import Diagnostic
from ir.pointers import Pointer
from ir.queries import check_query

STAGED = "input"
"""The name under which a query finds the staged rows, with the columns of the target."""


class CustomSql(Check):
    """A query over `input`, the staged rows, that gives the rows that are wrong: any row at all fails it.

    One SELECT that changes nothing; other tables are written with their schema. With no staged rows it still runs.
    """

    kind = "customSql"
    sketch = "{query}"
    query: Text
    message: Text | None = None

    @property
    def subject(self) -> str:
        return self.message or ""

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_query(self.query, at / "query", given=(STAGED,))

    def names(self) -> dict[str, str]:
        return {"query": self.query}
