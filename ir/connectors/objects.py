"""Settings of the connectors for object stores, which cannot move a file atomically."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ConfigDict, Field

from ir.base import Spec
from ir.connectors.files import ARRIVAL, FolderFilesConfig, check_archive_folders
from ir.diagnostics import Diagnostic
from ir.paths import check_folder
from ir.pointers import Pointer


class ObjectAtomicity(Spec):
    """Claims each object while it is loaded, and then moves it to an archive folder."""

    success_folder: str = Field(
        title="Folder after success",
        description="Relative to the path. Loaded objects are copied here and then deleted. Date tokens such as {YYYY} "
        "are allowed.",
        examples=["done/{YYYY}-{MM}"],
    )
    failure_folder: str = Field(
        title="Folder after failure",
        description="Relative to the path. Objects that could not be loaded are moved here.",
        examples=["failed"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_archive_folders(self, ("success_folder", "failure_folder"), at)


class ObjectsConfig(FolderFilesConfig):
    """Objects below `path` of a bucket or container."""

    model_config = ConfigDict(title="Objects")

    path: str = Field(
        title="Folder",
        description="The folder in the bucket or container; empty for its root. Subfolders are not searched.",
        examples=["orders"],
    )
    atomicity: ObjectAtomicity | None = Field(
        None,
        title="Archive",
        description="A run claims each object, so that no other run loads it, and moves it to an archive folder at the "
        "end. The key of the connection must be allowed to write and delete.",
        json_schema_extra=ARRIVAL,
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_folder(self.path, at / "path", tokens=False)

    @property
    def moves_files(self) -> bool:
        return self.atomicity is not None


STARTS_WITH: Mapping[str, Any] = {
    "path": "",
    "pattern": {"type": "glob", "value": "*.csv"},
    "format": {"type": "csv", "header": True},
}
