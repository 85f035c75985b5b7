"""The `sftp` connector: files on a server that is reached over SSH."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ConfigDict, Field

from ir.connectors.base import Connector
from ir.connectors.files import MovableFilesConfig
from ir.connectors.objects import STARTS_WITH
from ir.diagnostics import Diagnostic
from ir.paths import check_folder
from ir.pointers import Pointer


class SftpConfig(MovableFilesConfig):
    """Files in a folder of an SFTP server."""

    model_config = ConfigDict(title="Files on an SFTP server")

    path: str = Field(
        title="Folder",
        description="A folder below that of the connection; empty for that folder itself. Subfolders are not searched.",
        examples=["orders"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_folder(self.path, at / "path", tokens=False)


CONNECTOR = Connector(
    "sftp",
    "SFTP server",
    "Files in a folder of a server, over SSH.",
    SftpConfig,
    connection_kind="sftp",
    starts_with=STARTS_WITH,
)
