"""The settings of sources that read either a table or a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ir.base import Spec
from ir.connectors.base import SourceConfig
from ir.diagnostics import Diagnostic, diagnose
from ir.pointers import Pointer


class TableOrQueryConfig(SourceConfig):
    """The rows of a table or of a query. A subclass declares both fields, in the order of its form."""

    if TYPE_CHECKING:
        table: Spec | None
        query: str | None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if (self.table is None) == (self.query is None):
            what = "Neither a table nor a query is given." if self.table is None else "Both table and query are given."
            yield diagnose("source.table_or_query", at, what)
        if self.query is not None:
            yield from self.check_query(self.query, at / "query")

    def check_query(self, query: str, at: Pointer) -> Iterator[Diagnostic]:
        """Check that the query may run; `at` is its position."""
        raise NotImplementedError
