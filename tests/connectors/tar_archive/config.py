"""What `ir` knows of the connector `tar_archive`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ConfigDict, Field

from ir.connectors.base import Connector
from ir.connectors.files import FolderFilesConfig
from ir.diagnostics import Diagnostic
from ir.paths import check_folder
from ir.pointers import Pointer


class TarArchiveConfig(FolderFilesConfig):
    """The files of one TAR archive. Nothing is moved in it, so there is no `atomicity`."""

    model_config = ConfigDict(title="Archive")

    path: str = Field(title="Archive", description="The archive, relative to the workspace's folder.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_folder(self.path, at / "path", tokens=False)


CONNECTOR = Connector(
    "tar_archive",
    "TAR archive",
    "Files in a TAR archive.",
    TarArchiveConfig,
    starts_with={"path": "", "pattern": {"type": "glob", "value": "*.jsonl"}, "format": {"type": "jsonl"}},
)
