"""The folder of a Delta table, on a disk or in a bucket."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from pyarrow import fs

from executors.delta.failures import translate
from executors.delta.roots import Root, root_of
from executors.errors import Terminal
from executors.model import StoreConnection

_NAME = re.compile(r"\w[\w .-]*(?<![ .])")
"""Every store has these characters in names, and no part of a path leads out of the root."""


@dataclass(frozen=True, slots=True)
class TableFolder:
    """The folder of one table. Paths are relative to it. Its methods raise the failures of `translate`; `repr` omits
    the credentials of the store."""

    name: str
    path: str
    root: Root = field(repr=False)

    def open(self) -> DeltaTable | None:
        """Return the newest version of the table; None if there is none."""
        with translate(self.name):
            try:
                return DeltaTable(self.uri, storage_options=dict(self.root.options))
            except TableNotFoundError:
                return None

    def create(self, schema: pa.Schema) -> DeltaTable:
        """Create the table, or return the one that another session has created since."""
        with translate(self.name):
            options = dict(self.root.options)
            return DeltaTable.create(self.uri, schema=schema, mode="ignore", storage_options=options)

    @property
    def uri(self) -> str:
        return f"{self.root.uri}/{quote(self.path)}"

    @property
    def files(self) -> fs.FileSystem:
        return fs.SubTreeFileSystem(f"{self.root.base}/{self.path}", self.root.files)

    def list(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files of a folder by their paths; empty if it does not exist."""
        with translate(self.name):
            found = self.files.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
        return {info.path: info.size for info in found if info.type == fs.FileType.File}

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        with translate(self.name):
            return int(self.files.get_file_info(path).size)

    def read(self, path: str) -> bytes:
        with translate(self.name), self.files.open_input_file(path) as stream:
            return bytes(stream.read())

    def write(self, path: str, content: bytes) -> None:
        with translate(self.name):
            self.files.create_dir(path.rpartition("/")[0])
            with self.files.open_output_stream(path) as stream:
                stream.write(content)

    def delete(self, paths: Iterable[str]) -> None:
        with translate(self.name):
            for path in paths:
                self.files.delete_file(path)

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and its files, if it exists."""
        with translate(self.name):
            if self.files.get_file_info(folder).type == fs.FileType.Directory:
                self.files.delete_dir(folder)


def folder_of(connection: StoreConnection, schema: str, table: str) -> TableFolder:
    """Return the folder of a table: `schema/table` below the root of the connection. Raises Terminal
    `target.name_unusable`."""
    for name in (schema, table):
        if not _NAME.fullmatch(name):
            raise Terminal(
                "target.name_unusable",
                f"{name!r} cannot be the name of a folder of Delta tables.",
                hint="Use letters, digits, blanks, '_', '-' and '.', and begin with a letter or digit.",
            )
    return TableFolder(f"{schema}.{table}", f"{schema}/{table}", root_of(connection))
