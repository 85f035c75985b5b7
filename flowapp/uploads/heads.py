"""Read the first bytes of a file in the workspace's folder, to detect its settings or to test settings on its rows."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from executors.api import LOOKED_AT_BYTES, Detection, Fit, GivenSettings, detect_file, fit_file, peek_head
from flowapp.accounts.models import Workspace
from ir.errors import FlowError
from ir.formats import Format
from ir.nodes import Source, SourceColumn


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of a file. `path` is relative to the workspace's folder."""

    path: str
    data: bytes
    is_whole: bool

    def detect(self, given: GivenSettings) -> Detection:
        """Detect the settings that are not given. Raises FlowError."""
        return detect_file(self.data, self.path, is_whole=self.is_whole, given=given)

    def fit(self, fmt: Format, columns: Sequence[SourceColumn]) -> Fit:
        """Read the rows with these settings. Raises FlowError."""
        return fit_file(self.data, self.path, is_whole=self.is_whole, fmt=fmt, columns=columns)


def read_head(workspace: Workspace, path: str) -> Head:
    """Read the beginning of a file. Raises FlowError."""
    with open_inside(workspace, path) as stream:
        data = stream.read(LOOKED_AT_BYTES + 1)
    return Head(path, data[:LOOKED_AT_BYTES], len(data) <= LOOKED_AT_BYTES)


def newest_head(workspace: Workspace, source: Source) -> Head | None:
    """Read the beginning of the newest file that a source would read; None if there is no such file. Raises FlowError,
    and OSError or ValueError for settings with which no file can be found."""
    found = peek_head(source, settings.FILES_ROOT / workspace.slug, LOOKED_AT_BYTES + 1)
    if found is None:
        return None
    name, data = found
    return Head(name, data[:LOOKED_AT_BYTES], len(data) <= LOOKED_AT_BYTES)


def path_inside(workspace: Workspace, path: str) -> Path:
    """Return the resolved path of a file in the workspace. Hidden files and files outside count as unknown."""
    root = (settings.FILES_ROOT / workspace.slug).resolve()
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or any(part.startswith(".") for part in parts):
        raise _unknown(path)
    try:
        found = root.joinpath(*parts).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # A cycle of links, or a NUL in the path.
        raise _unknown(path) from error
    if not found.is_relative_to(root):
        raise _unknown(path)
    return found


def open_inside(workspace: Workspace, path: str) -> BinaryIO:
    """Open a file of the workspace. Raises FlowError."""
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
