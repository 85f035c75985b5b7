"""List the workspace's folder, so that users can choose a file or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from flowapp.accounts.models import Workspace
from flowapp.uploads.heads import path_inside
from ir.errors import FlowError
from ir.patterns import glob_matcher

MOST_ENTRIES = 1000
"""The maximum number of entries that are read from a folder."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file. `path` is relative to the workspace's folder."""

    path: str
    size: int
    changed_at: datetime

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Listing:
    """The `folders` and `files` of one folder, newest file first. `is_cut` means that there are more entries."""

    folder: str
    folders: tuple[str, ...] = ()
    files: tuple[FileEntry, ...] = ()
    is_cut: bool = False

    @property
    def parents(self) -> list[tuple[str, str]]:
        """Return the parent folders of this one, each with its name."""
        parts = self.folder.split("/") if self.folder else []
        return [("/".join(parts[: i + 1]), name) for i, name in enumerate(parts)]

    def matching(self, pattern: str) -> list[FileEntry]:
        """Return the files whose names match a glob, as a source matches it."""
        matches = glob_matcher(pattern)
        return [file for file in self.files if matches(file.name)]


def list_folder(workspace: Workspace, folder: str) -> Listing:
    """List a folder of the workspace without hidden entries and links. Raises FlowError if the folder does not
    exist."""
    folder = "/".join(part for part in folder.split("/") if part not in ("", "."))
    place = path_inside(workspace, folder) if folder else settings.FILES_ROOT / workspace.slug
    try:
        with os.scandir(place) as scanned:
            entries = [entry for entry, _ in zip(scanned, range(MOST_ENTRIES + 1), strict=False)]
    except (FileNotFoundError, NotADirectoryError):
        if not folder:  # The first upload creates it.
            return Listing("")
        raise FlowError(
            "folder.unknown", f"There is no folder {folder[:200]!r} in the workspace's folder.", hint="Choose another."
        ) from None
    except OSError as error:
        raise FlowError(
            "file.unreadable",
            f"The folder {folder[:200]!r} cannot be read: {error.strerror}.",
            hint="Give the user that runs Flow read permission.",
        ) from None
    shown = [entry for entry in entries[:MOST_ENTRIES] if not entry.name.startswith(".") and _is_text(entry.name)]
    folders = sorted(_join(folder, entry.name) for entry in shown if entry.is_dir(follow_symlinks=False))
    files = sorted(_files(folder, shown), key=lambda file: (-file.changed_at.timestamp(), file.path))
    return Listing(folder, tuple(folders), tuple(files), len(entries) > MOST_ENTRIES)


def _files(folder: str, entries: list[os.DirEntry[str]]) -> Iterator[FileEntry]:
    for entry in entries:
        if entry.is_file(follow_symlinks=False):
            status = entry.stat(follow_symlinks=False)
            yield FileEntry(_join(folder, entry.name), status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def _is_text(name: str) -> bool:
    """Return whether a name is UTF-8, because documents cannot contain other names."""
    try:
        Path(name).name.encode()
    except UnicodeEncodeError:
        return False
    return True
