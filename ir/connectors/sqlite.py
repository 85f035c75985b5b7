"""The `sqlite` connector: a table, view or query of a SQLite file in the workspace's folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import ConfigDict, Field

from ir.backfill import BackfillHint
from ir.connectors.base import Connector
from ir.connectors.database_file import DatabaseFileConfig, FileTable
from ir.file_queries import Grammar


class SqliteConfig(DatabaseFileConfig):
    """The rows of a table or of a query, all read by one statement."""

    model_config = ConfigDict(title="Rows of SQLite")
    grammar: ClassVar[Grammar] = "sqlite"

    path: str = Field(
        title="File",
        description="The database file, relative to the workspace's folder.",
        examples=["shop.sqlite"],
        min_length=1,
    )
    table: FileTable | None = Field(
        None, title="Table", description="The table or view to read. Give a table or a query, not both."
    )


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for a table of the common file."""
    return {**shared, "table": {"name": table}}


CONNECTOR = Connector(
    "sqlite",
    "SQLite file",
    "A table or a query of a database file in the folder of the workspace.",
    SqliteConfig,
    reads="snapshot",
    keeps_order=False,
    keeps_empty=True,
    starts_with={"path": "", "table": {"name": ""}},
    table_settings=_table_settings,
    backfill=BackfillHint("monotonic", natural_window="30d"),
)
