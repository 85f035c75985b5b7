"""Settings of the connectors for databases that are read through an Arrow driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from ir.arrow_queries import ArrowGrammar, check_query
from ir.base import Spec, Text
from ir.connectors.base import Connector
from ir.connectors.table_or_query import TableOrQueryConfig
from ir.diagnostics import Diagnostic, diagnose
from ir.manifests.stores.base import UNTESTED
from ir.names import parse_table_name
from ir.pointers import Pointer


class DatabaseTable(Spec):
    """A table or view of a database with an Arrow driver."""

    model_config = ConfigDict(title="Table of a database")

    schema_: str | None = Field(
        None,
        alias="schema",
        title="Schema",
        description="Its schema; in BigQuery, its dataset. Without one, that of the connection or of its user.",
        examples=["sales"],
        min_length=1,
        max_length=255,
    )
    name: str = Field(
        title="Table",
        description="Its exact name. Oracle and Snowflake write names in capitals unless they were created in quotes.",
        examples=["ORDERS"],
        min_length=1,
        max_length=255,
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for field, value in (("schema", self.schema_ or ""), ("name", self.name)):
            if "\0" in value or '"' in value:
                yield diagnose("query.malformed", at / field, "A name has no quotation mark and no NUL character.")

    @property
    def path(self) -> tuple[str, ...]:
        """The name, behind that of its schema if it is given."""
        return (self.schema_, self.name) if self.schema_ else (self.name,)


class ArrowDatabaseConfig(TableOrQueryConfig):
    """The rows of a table or of a query, all read by one statement. A subclass declares the grammar of its queries."""

    grammar: ClassVar[ArrowGrammar]

    table: DatabaseTable | None = Field(
        None, title="Table", description="The table or view to read. Give a table or a query, not both."
    )
    query: Text | None = Field(
        None,
        description="One SELECT that changes nothing, without comments.",
        examples=["SELECT * FROM orders"],
        json_schema_extra={"multiline": True},
    )

    def check_query(self, query: str, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_query(query, self.grammar, at)

    @property
    def location(self) -> str:
        return ".".join(self.table.path) if self.table is not None else str(self.query)


def connector(name: str, title: str, config: type[ArrowDatabaseConfig]) -> Connector:
    """Return the declaration of a system; its kind of connection has the same name."""
    return Connector(
        name,
        title,
        "A table, a view or a query. Not tested against a real server.",
        config,
        reads="snapshot",
        connection_kind=name,
        keeps_order=False,
        keeps_empty=True,
        starts_with={"table": {"name": ""}},
        table_settings=_table_settings,
        caution=UNTESTED,
    )


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for a table. Its name may include a schema; otherwise it has that of `shared`, if any."""
    others = {key: value for key, value in shared.items() if key != "schema"}
    if "." in table:
        schema, name = parse_table_name(table)
        return {**others, "table": {"schema": schema, "name": name}}
    return {**others, "table": {**{key: shared[key] for key in ("schema",) if key in shared}, "name": table}}
