"""The `duckdb` connector: a table, view or query of a DuckDB file in the workspace's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from ir.backfill import BackfillHint
from ir.connectors.base import Connector
from ir.connectors.database_file import DatabaseFileConfig, FileTable
from ir.diagnostics import Diagnostic, diagnose
from ir.file_queries import Grammar
from ir.names import parse_table_name
from ir.pointers import Pointer


class DuckdbTable(FileTable):
    """A table or view of DuckDB."""

    schema_: str = Field(
        "main",
        alias="schema",
        title="Schema",
        description="Its schema.",
        examples=["main"],
        min_length=1,
        max_length=255,
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        if "\0" in self.schema_:
            yield diagnose("query.malformed", at / "schema", "A name has no NUL character.")

    @property
    def path(self) -> tuple[str, ...]:
        return (self.schema_, self.name)


class DuckdbConfig(DatabaseFileConfig):
    """The rows of a table or of a query. Writers cannot open the file while a run reads it."""

    model_config = ConfigDict(title="Rows of DuckDB")
    grammar: ClassVar[Grammar] = "duckdb"

    path: str = Field(
        title="File",
        description="The database file, relative to the workspace's folder.",
        examples=["shop.duckdb"],
        min_length=1,
    )
    table: DuckdbTable | None = Field(
        None, title="Table", description="The table or view to read. Give a table or a query, not both."
    )


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for a table of the common file. Its name may include a schema."""
    schema, name = parse_table_name(table) if "." in table else (shared.get("schema", "main"), table)
    others = {key: value for key, value in shared.items() if key != "schema"}
    return {**others, "table": {"schema": schema, "name": name}}


CONNECTOR = Connector(
    "duckdb",
    "DuckDB file",
    "A table or a query of a database file in the folder of the workspace.",
    DuckdbConfig,
    reads="snapshot",
    keeps_order=False,
    keeps_empty=True,
    starts_with={"path": "", "table": {"schema": "main", "name": ""}},
    table_settings=_table_settings,
    backfill=BackfillHint("monotonic", natural_window="30d"),
)
