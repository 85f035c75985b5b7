"""A folder of this installation that targets load Delta tables into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.diagnostics import Diagnostic
from ir.manifests.stores.base import DeclaredStore
from ir.paths import check_folder
from ir.pointers import Pointer


class DeclaredFolder(DeclaredStore):
    """A folder of this installation, in which each Delta table is a folder."""

    title = "Folder for Delta tables"
    holds = "tables"
    address = ("kind", "path")

    kind: Literal["folder"]
    path: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]{1,255}$"), NoNewline()] = Field(
        title="Folder",
        description="A path below the folder that the workspace has in FLOW_LAKE_FOLDER. The first load makes it.",
        examples=["sales"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from super().check(at)
        yield from check_folder(self.path, at / "path", tokens=False)

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        """Return no server: all processes of the installation see the folder."""
        return "", 0

    @classmethod
    def container_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["path"])

    @classmethod
    def described(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["path"])
