"""The `local_fs` connector: files in the workspace's folder."""

from __future__ import annotations

from collections.abc import Iterator

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


CONNECTOR = Connector(
    "local_fs",
    "Files in the workspace's folder.",
    LocalFsConfig,
    starts_with={
        "path": "",
        "pattern": {"type": "glob", "value": "*.csv"},
        "format": {"type": "csv", "header": True},
    },
)
