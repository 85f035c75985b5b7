"""The `local_fs` connector: files in the workspace's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from ir.connectors.base import Connector
from ir.connectors.files import MovableFilesConfig
from ir.diagnostics import Diagnostic
from ir.paths import check_folder
from ir.pointers import Pointer


class LocalFsConfig(MovableFilesConfig):
    """Files in a folder of the workspace."""

    path: str = Field(
        title="Folder",
        description="A folder below that of the workspace. The Files page puts files there.",
        examples=["orders"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_folder(self.path, at / "path", tokens=False)


_STARTS_WITH = {
    "path": "",
    "pattern": {"type": "glob", "value": "*.csv"},
    "format": {"type": "csv", "header": True},
}


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for the folder of a table, below the common folder of all tables."""
    if not table.strip("/"):
        raise ValueError("it has no name")
    folder = str(shared.get("path", "")).rstrip("/")
    return {**_STARTS_WITH, **shared, "path": f"{folder}/{table}" if folder else table}


CONNECTOR = Connector(
    "local_fs",
    "Folder of the workspace",
    "Files that people upload or programs write there.",
    LocalFsConfig,
    starts_with=_STARTS_WITH,
    table_settings=_table_settings,
)
