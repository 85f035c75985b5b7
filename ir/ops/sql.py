"""The op sql: a SELECT over the input rows. Each row stays one row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from pydantic import Field

from ir.base import Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose
from ir.expressions import ExpressionError
from ir.expressions.select import Query, parse_query
from ir.names import check_column
from ir.ops.base import Op, Reads
from ir.pointers import Pointer


class SqlQuery(Op):
    """Selects columns and expressions, and filters rows, with one query in Spark SQL."""

    op: Literal["sql"]
    query: Text = Field(
        description="SELECT columns and expressions FROM input, and a WHERE if needed. input are the rows that arrive. "
        "Each row stays one row. Rows for which the condition is false or NULL are filtered out.",
        examples=["SELECT *, price * quantity AS total FROM input WHERE status <> 'test'"],
        json_schema_extra={"multiline": True},
    )

    def parsed(self) -> Query | None:
        """Return the parts of the query; None if it is not valid."""
        try:
            return parse_query(self.query)
        except ExpressionError:
            return None

    @property
    def filters_rows(self) -> bool:
        query = self.parsed()
        return query is None or query.where is not None

    def computes(self) -> Iterable[str]:
        query = self.parsed()
        return (item.name for item in query.items if item.name != item.column) if query else ()

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        try:
            query = parse_query(self.query)
        except ExpressionError as error:
            yield diagnose(error.code, at / "query", error.message, hint=error.hint)
            return
        for item in query.items:
            yield from check_column(item.name, at / "query")

    def reads(self, at: Pointer) -> Reads:
        query = self.parsed()
        names = (name for one in (query.expressions() if query else ()) for name in one.columns)
        return ((name, at / "query") for name in dict.fromkeys(names))

    def adds(self, at: Pointer) -> Reads:
        query = self.parsed()
        return ((item.name, at / "query") for item in (query.items if query and query.has_all else ()))

    def columns_after(self, columns: Columns) -> Columns:
        query = self.parsed()
        if query is None:
            return Columns()
        kept = {i.name: columns.types[i.column] for i in query.items if i.column and i.column in columns.types}
        names = [item.name for item in query.items]
        after = columns.with_added(names) if query.has_all else columns.selected(names)
        types = {name: kind for name, kind in after.types.items() if name not in names}
        return replace(after, types={**types, **kept})
