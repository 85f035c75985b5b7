"""The `postgres` connector: a table, view or query of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from ir.backfill import BackfillHint
from ir.base import Spec, Text
from ir.connectors.base import Connector, TargetConnector
from ir.connectors.table_or_query import TableOrQueryConfig
from ir.diagnostics import Diagnostic
from ir.load_modes import LOAD_MODES
from ir.names import check_identifier, check_readable, parse_table_name
from ir.pointers import Pointer
from ir.queries import check_query


class SourceTable(Spec):
    """A table or view."""

    schema_: str = Field(
        alias="schema",
        title="Schema",
        description="Its schema.",
        examples=["public"],
        json_schema_extra={"suggests": "schemas"},
    )
    name: str = Field(
        title="Table", description="Its exact name.", examples=["orders"], json_schema_extra={"suggests": "tables"}
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_readable(self.schema_, self.name, at / "schema")
        yield from check_identifier(self.name, at / "name", "table")


class PostgresConfig(TableOrQueryConfig):
    """The rows of a table or of a query, all read from one snapshot."""

    model_config = ConfigDict(title="Rows")

    table: SourceTable | None = Field(
        None, title="Table", description="The table or view to read. Give a table or a query, not both."
    )
    query: Text | None = Field(
        None,
        description="One SELECT that changes nothing. Write tables with their schema: public.orders.",
        examples=["SELECT * FROM public.orders"],
        json_schema_extra={"multiline": True},
    )

    def check_query(self, query: str, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_query(query, at)

    @property
    def location(self) -> str:
        return f"{self.table.schema_}.{self.table.name}" if self.table is not None else str(self.query)

    def queries(self, at: Pointer) -> Iterator[tuple[Pointer, str]]:
        if self.query is not None:
            yield at / "query", self.query


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for a table. Its name includes a schema; otherwise it has the schema of `shared`."""
    schema, name = parse_table_name(table) if "." in table else (shared.get("schema", "public"), table)
    others = {key: value for key, value in shared.items() if key != "schema"}
    return {**others, "table": {"schema": schema, "name": name}}


CONNECTOR = Connector(
    "postgres",
    "PostgreSQL",
    "A table, a view or a query.",
    PostgresConfig,
    reads="snapshot",
    connection_kind="postgres",
    keeps_order=False,
    keeps_empty=True,
    starts_with={"table": {"schema": "public", "name": ""}},
    table_settings=_table_settings,
    backfill=BackfillHint("monotonic", natural_window="30d", partitions=True),
)

TARGET = TargetConnector(
    "postgres",
    "PostgreSQL",
    "PostgreSQL tables",
    "A table of a database.",
    connection_kinds=("postgres",),
    load_modes=frozenset(LOAD_MODES),
)
