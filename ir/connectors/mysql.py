"""The `mysql` connector: a table, view or query of a MySQL or MariaDB database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from ir.backfill import BackfillHint
from ir.base import Spec, Text
from ir.connectors.base import Connector
from ir.connectors.table_or_query import TableOrQueryConfig
from ir.diagnostics import Diagnostic, diagnose
from ir.mysql_queries import SYSTEM_SCHEMAS, check_query
from ir.names import parse_table_name
from ir.pointers import Pointer


class MysqlTable(Spec):
    """A table or view of MySQL."""

    model_config = ConfigDict(title="Table of MySQL")

    database: str | None = Field(
        None,
        title="Database",
        description="Its database. Without one, that of the connection.",
        examples=["shop"],
        min_length=1,
        max_length=64,
    )
    name: str = Field(title="Table", description="Its exact name.", examples=["orders"], min_length=1, max_length=64)

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.database and self.database.lower() in SYSTEM_SCHEMAS:
            yield diagnose("query.not_allowed", at / "database", f"The schema {self.database} belongs to the server.")
        for field, value in (("database", self.database or ""), ("name", self.name)):
            if "\0" in value:
                yield diagnose("query.malformed", at / field, "A name has no NUL character.")


class MysqlConfig(TableOrQueryConfig):
    """The rows of a table or of a query, all read by one statement."""

    model_config = ConfigDict(title="Rows of MySQL")

    table: MysqlTable | None = Field(
        None, title="Table", description="The table or view to read. Give a table or a query, not both."
    )
    query: Text | None = Field(
        None,
        description="One SELECT that changes nothing, without comments.",
        examples=["SELECT * FROM orders"],
        json_schema_extra={"multiline": True},
    )

    def check_query(self, query: str, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_query(query, at)

    @property
    def location(self) -> str:
        if self.table is None:
            return str(self.query)
        return f"{self.table.database}.{self.table.name}" if self.table.database else self.table.name


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for a table. Its name may include a database; otherwise it has that of `shared`, if any."""
    others = {key: value for key, value in shared.items() if key != "database"}
    if "." in table:
        database, name = parse_table_name(table)
        return {**others, "table": {"database": database, "name": name}}
    return {**others, "table": {**{key: shared[key] for key in ("database",) if key in shared}, "name": table}}


CONNECTOR = Connector(
    "mysql",
    "MySQL or MariaDB",
    "A table, a view or a query.",
    MysqlConfig,
    reads="snapshot",
    connection_kind="mysql",
    keeps_order=False,
    keeps_empty=True,
    starts_with={"table": {"name": ""}},
    table_settings=_table_settings,
    backfill=BackfillHint("monotonic", natural_window="30d"),
)
