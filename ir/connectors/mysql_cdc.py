"""The `mysql_cdc` connector: the changes of a table of a MariaDB database, read from its binary log."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from ir.connectors.base import Connector, SourceConfig
from ir.connectors.mysql import MysqlTable


class MysqlCdcConfig(SourceConfig):
    """A table and the changes of its rows, in the order of their commits."""

    model_config = ConfigDict(title="Changes of MariaDB")

    table: MysqlTable = Field(title="Table", description="The table to follow.")
    snapshot: Literal["initial", "never"] = Field(
        "initial",
        title="First load",
        description="initial loads all rows of the table first; never loads only changes from then on.",
        json_schema_extra={"labels": {"initial": "all rows, then changes", "never": "changes only"}},
    )

    @property
    def location(self) -> str:
        table = self.table
        return f"changes of {table.database}.{table.name}" if table.database else f"changes of {table.name}"


CONNECTOR = Connector(
    "mysql_cdc",
    "Changes of a MariaDB table",
    "Follows a table, change by change.",
    MysqlCdcConfig,
    reads="snapshot",
    connection_kind="mysql",
    follows_changes=True,
    keeps_order=False,
    keeps_empty=True,
    starts_with={"table": {"name": ""}},
    caution="Tested with MariaDB. MySQL is not verified, and is refused.",
)
