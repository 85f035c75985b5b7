"""Read the first bytes of a file in the workspace's folder, to detect its settings or to test settings on its rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from django.conf import settings

from executors.api import (
    LOOKED_AT_BYTES,
    Detection,
    Fit,
    GivenSettings,
    Members,
    detect_file,
    fit_file,
    is_archive,
    members_in,
    open_member,
    peek_head,
    peek_member,
)
from executors.model import SourceFile
from flowapp.accounts.models import Workspace
from ir.errors import FlowError
from ir.formats import Format
from ir.nodes import Source, SourceColumn

LONGEST_PART, LONGEST_PATH = 255, 4096
"""In bytes: the kernel refuses longer names."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of a file. `path` is relative to the workspace's folder. `archive` is the path of the ZIP
    archive that contains it, or ""."""

    path: str
    data: bytes
    is_whole: bool
    archive: str = ""

    def detect(self, given: GivenSettings) -> Detection:
        """Detect the settings that are not given. Raises FlowError."""
        found = detect_file(self.data, self.path, is_whole=self.is_whole, given=given)
        if self.archive and found.format.endings is None:
            raise FlowError(
                "detection.unreadable",
                f"{self.path} is {found.format.label}; only text is read from ZIP archives.",
                hint="Unpack it first.",
            )
        return found

    def fit(self, fmt: Format, columns: Sequence[SourceColumn]) -> Fit:
        """Read the rows with these settings. Raises FlowError."""
        return fit_file(self.data, self.path, is_whole=self.is_whole, fmt=fmt, columns=columns)


def read_head(workspace: Workspace, path: str) -> Head:
    """Read the beginning of a file, of an archive that of its first file of text. Raises FlowError."""
    stream, file = find_inside(workspace, path)
    if file.member is None and is_archive(path):
        stream, file = _in_archive(stream, file, "")
    with stream:
        return _head(file, stream.read(LOOKED_AT_BYTES + 1))


def newest_head(workspace: Workspace, source: Source) -> Head | None:
    """Read the beginning of the newest file that a source would read; None if there is no such file. Raises FlowError,
    and OSError or ValueError for settings with which no file can be found."""
    found = peek_head(source, settings.FILES_ROOT / workspace.slug, LOOKED_AT_BYTES + 1)
    return None if found is None else _head(*found)


def _head(file: SourceFile, data: bytes) -> Head:
    is_whole = len(data) <= LOOKED_AT_BYTES
    return Head(file.name, data[:LOOKED_AT_BYTES], is_whole, file.stored.name if file.member else "")


def list_archive(workspace: Workspace, path: str, matches: Callable[[str], bool]) -> Members:
    """List the files in a ZIP archive of the workspace, those whose names match first. Raises FlowError."""
    stream, archive = find_inside(workspace, path)
    with stream:
        return members_in(archive, stream, matches)


def path_inside(workspace: Workspace, path: str) -> Path:
    """Return the resolved path of a file in the workspace. Hidden files and files outside count as unknown."""
    root = (settings.FILES_ROOT / workspace.slug).resolve()
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or any(part.startswith(".") for part in parts):
        raise _unknown(path)
    try:
        found = root.joinpath(*parts).resolve()
        is_possible = len(os.fsencode(found)) < LONGEST_PATH and all(len(os.fsencode(p)) <= LONGEST_PART for p in parts)
    except (OSError, RuntimeError, ValueError) as error:  # A cycle of links, or a NUL in the path.
        raise _unknown(path) from error
    if not is_possible or not found.is_relative_to(root):
        raise _unknown(path)
    return found


def open_inside(workspace: Workspace, path: str) -> BinaryIO:
    """Open a file of the workspace, also one in a ZIP archive. Raises FlowError."""
    return find_inside(workspace, path)[0]


def find_inside(workspace: Workspace, path: str) -> tuple[BinaryIO, SourceFile]:
    """Open a file of the workspace, also one in a ZIP archive, such as in/orders.zip/2026-01.csv, and describe it.
    Raises FlowError."""
    archive = _archive_of(workspace, path)
    stored = archive or path
    stream = _open(workspace, stored)
    file = SourceFile.found(0, stored, stored, os.fstat(stream.fileno()))
    return _in_archive(stream, file, path) if archive else (stream, file)


def _archive_of(workspace: Workspace, path: str) -> str | None:
    """Return the path of the ZIP archive that contains the file, if it is in one."""
    above = map(str, reversed(PurePosixPath(path).parents))
    return next((name for name in above if is_archive(name) and path_inside(workspace, name).is_file()), None)


def _in_archive(stream: BinaryIO, archive: SourceFile, name: str) -> tuple[BinaryIO, SourceFile]:
    """Return a member of an open archive. Without a name, return the one that `peek_member` chooses. Raises
    FlowError."""
    with ExitStack() as stack:
        stack.enter_context(stream)
        found = peek_member(archive, stream, name)
        if found is None:
            raise _unknown(name or archive.name)
        opened = open_member(stream, found, closes=True)
        stack.pop_all()
        return opened, found


def _open(workspace: Workspace, path: str) -> BinaryIO:
    try:
        # Opening a FIFO without a writer must not block the page.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(path_inside(workspace, path), flags)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _unknown(path) from error
    except OSError as error:
        raise FlowError(
            "file.unreadable",
            f"{path[:200]!r} cannot be read: {error.strerror}.",
            hint="Give the user that runs Flow read permission.",
        ) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unknown(path)
    return os.fdopen(descriptor, "rb")


def _unknown(path: str) -> FlowError:
    return FlowError(
        "file.unknown",
        f"There is no file {path[:200]!r} in the workspace's folder.",
        hint="Write the path from the workspace's folder, such as orders/2026-01.csv.",
    )
