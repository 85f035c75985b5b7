"""The interface of a store: listing, reading ranges, and for stores that can move files the writes of a claim."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from executors.model import SourceFile


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or folder of a store. `path` is relative to the root of the connection; that of a folder ends with `/`.
    `version` changes with every write of the file. A link has neither size nor time."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    version: str | None = None
    is_link: bool = False

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2]

    def as_file(self, shown: str, fingerprint: str = "") -> SourceFile:
        return SourceFile(0, self.path, shown, self.size, self.mtime_ns, version=self.version, fingerprint=fingerprint)


class Store(ABC):
    """A client of a store. It is used by several threads, and never pickled.

    Every method raises Transient or Terminal `source.…`; no message repeats a secret.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The displayed name of the store, such as its bucket."""

    @abstractmethod
    def list(self, folder: str, after: str = "", page: int | None = None) -> Iterator[Entry]:
        """Yield the files and folders directly in a folder, page by page. `folder` is empty or ends with `/`. With
        `after`, start behind this path. Pages have an order, in pages of `page` entries; the entries of a page have
        none."""

    @property
    def compares_versions(self) -> bool:
        """Return whether `read` is one request that the server refuses for another version of the file."""
        return False

    def is_exact(self, path: str) -> bool:
        """Return whether the other methods use the file with exactly this path, and no other one."""
        return True

    @abstractmethod
    def stat(self, path: str) -> Entry | None:
        """Return a file; None if it does not exist."""

    @abstractmethod
    def read(self, file: SourceFile, start: int, size: int) -> bytes:
        """Return `size` bytes of a file from the offset `start`, which the file has. Raises Transient `source.changed`
        if the file is not the listed one."""


class WritableStore(Store):
    """A store that can create a file only if it does not exist, in one operation."""

    @abstractmethod
    def create(self, path: str, content: bytes) -> bool:
        """Write a file unless it exists. Of several callers one gets True."""

    @abstractmethod
    def replace(self, path: str, content: bytes, version: str) -> bool:
        """Replace a file that still has this version; return False if it has another one or is missing."""

    @abstractmethod
    def read_small(self, path: str) -> tuple[bytes, str] | None:
        """Return the content and the version of a small file; None if it does not exist."""

    @abstractmethod
    def copy(self, source: Entry, to: str) -> None:
        """Copy a file within the store, over an existing one. Raises Transient `source.changed` if it is missing."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, if it exists."""


class RenamingStore(Store):
    """A store that moves a file in one step. Folders end with `/`."""

    @abstractmethod
    def has_folder(self, folder: str) -> bool:
        """Return whether the folder exists."""

    @abstractmethod
    def exists(self, path: str) -> bool:
        """Return whether there is anything at this path."""

    @abstractmethod
    def make_folder(self, folder: str) -> None:
        """Create a folder and those above it, if they are missing."""

    @abstractmethod
    def remove_folder(self, folder: str) -> bool:
        """Remove an empty folder; return whether it was removed."""

    @abstractmethod
    def take(self, path: str, to: str) -> bool:
        """Move a file to a free path in an existing folder. Of several callers one gets True. Raises Terminal
        `source.not_exclusive` if the server cannot do that."""

    @abstractmethod
    def move_if_free(self, path: str, to: str) -> bool:
        """Move a file into an existing folder unless its destination exists; return whether it was moved. Raises
        Transient `source.changed` if the file is missing."""

    @abstractmethod
    def moves_exclusively(self, folder: str) -> bool:
        """Return whether the server moves files in one step and replaces no file unasked. Creates two empty files in
        the folder and deletes them."""
