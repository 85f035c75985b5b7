"""Settings of the connectors for databases that are one file in the workspace's folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field

from ir.base import Spec, Text
from ir.connectors.table_or_query import TableOrQueryConfig
from ir.diagnostics import Diagnostic, diagnose
from ir.file_queries import Grammar, check_query
from ir.paths import check_folder
from ir.pointers import Pointer


class FileTable(Spec):
    """A table or view of a database file."""

    name: str = Field(title="Table", description="Its name.", examples=["orders"], min_length=1, max_length=255)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if "\0" in self.name:
            yield diagnose("query.malformed", at / "name", "A name has no NUL character.")

    @property
    def path(self) -> tuple[str, ...]:
        """The name, behind that of its schema if it is given."""
        return (self.name,)


class DatabaseFileConfig(TableOrQueryConfig):
    """The rows of a table, view or query of a database file. A subclass declares `path` and `table`."""

    grammar: ClassVar[Grammar]

    path: str
    table: FileTable | None = None
    query: Text | None = Field(
        None,
        description="One SELECT. It can read nothing but this file.",
        examples=["SELECT * FROM orders WHERE id > 5"],
        json_schema_extra={"multiline": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_folder(self.path, at / "path", tokens=False)
        yield from super().check(at)

    def check_query(self, query: str, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_query(query, self.grammar, at)

    @property
    def location(self) -> str:
        return f"{self.path}: {'.'.join(self.table.path) if self.table is not None else self.query}"
