"""The folder of a Delta table, on a disk or in a bucket."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from executors.delta.failures import translate
from executors.delta.roots import Root, root_of
from executors.errors import Terminal
from executors.model import StoreConnection

_NAME = re.compile(r"[^\W_][\w .-]*(?<![ .])")
"""Every store has these characters in names, and no part of a path leads out of the root."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of a connection. Paths are relative to it. Its methods raise the failures of `translate`; `repr` omits
    the credentials of the store."""

    name: str
    path: str
    root: Root = field(repr=False)

    @property
    def uri(self) -> str:
        return "/".join([self.root.uri, *([quote(self.path)] if self.path else [])])

    @property
    def files(self) -> fs.FileSystem:
        """Return the files to read and write."""
        return fs.SubTreeFileSystem("/".join(filter(None, [self.root.base, self.path])), self.root.files)

    @property
    def _objects(self) -> fs.FileSystem:
        """Return the files to list and delete: pyarrow would create an object for each folder of a bucket."""
        return fs.PyFileSystem(DeltaStorageHandler(self.uri, dict(self.root.options)))

    def list(self, folder: str) -> dict[str, int]:
        """Return the sizes of the files of a folder by their paths; empty if it does not exist."""
        with translate(self.name):
            try:
                files = self._objects
            except TableNotFoundError:  # the folder itself does not exist yet
                return {}
            found = files.get_file_info(fs.FileSelector(folder, allow_not_found=True, recursive=True))
        # Some servers list folders as empty objects; no file of ours is empty.
        return {info.path.lstrip("/"): info.size for info in found if info.type == fs.FileType.File and info.size}

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        with translate(self.name):
            return int(self.files.get_file_info(path).size)

    def read(self, path: str) -> bytes:
        with translate(self.name), self.files.open_input_file(path) as stream:
            return bytes(stream.read())

    def open_output(self, path: str) -> pa.NativeFile:
        """Return a stream that writes a file. It exists once the stream is closed, on a disk from the first byte."""
        with translate(self.name):
            if self.root.is_local:
                self.files.create_dir(path.rpartition("/")[0])
            return self.files.open_output_stream(path)

    def write(self, path: str, content: bytes) -> None:
        with translate(self.name), self.open_output(path) as stream:
            stream.write(content)

    def delete(self, paths: Iterable[str]) -> None:
        with translate(self.name):
            files = self._objects
            for path in paths:
                files.delete_file(path)

    def delete_folder(self, folder: str) -> None:
        """Delete a folder and its files, if it exists."""
        self.delete(self.list(folder))
        if self.root.is_local:
            with translate(self.name), suppress(FileNotFoundError):
                self.files.delete_dir(folder)


@dataclass(frozen=True, slots=True)
class TableFolder(Folder):
    """The folder of one table."""

    def open(self) -> DeltaTable | None:
        """Return the newest version of the table; None if there is none."""
        with translate(self.name):
            try:
                return DeltaTable(self.uri, storage_options=dict(self.root.options))
            except TableNotFoundError:
                return None

    def create(self, schema: pa.Schema) -> DeltaTable:
        """Create the table, empty; return the existing one if another session was faster."""
        with translate(self.name):
            options = dict(self.root.options)
            return DeltaTable.create(self.uri, schema, mode="ignore", storage_options=options)

    @property
    def lake(self) -> Folder:
        """The root of the connection."""
        return Folder(self.name, "", self.root)


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
