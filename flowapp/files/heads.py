"""Read the first bytes of a file in the workspace's folder and detect its settings."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from django.conf import settings

from executors.api import LOOKED_AT_BYTES, Detection, GivenSettings, detect_file
from flowapp.accounts.models import Workspace
from ir.errors import FlowError


def detect_settings(workspace: Workspace, path: str, given: GivenSettings) -> Detection:
    """Detect the settings from the beginning of a file. Raises FlowError."""
    head = _read_head(_inside(workspace, path), path)
    return detect_file(head[:LOOKED_AT_BYTES], path, is_whole=len(head) <= LOOKED_AT_BYTES, given=given)


def _inside(workspace: Workspace, path: str) -> Path:
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


def _read_head(file: Path, path: str) -> bytes:
    """Return the inspected bytes and, if there are more, one more byte."""
    try:
        # Opening a FIFO without a writer must not block the page.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _unknown(path) from error
    except OSError as error:
        raise FlowError(
            "file.unreadable",
            f"{path[:200]!r} cannot be read: {error.strerror}.",
            hint="Give the user that runs Flow read permission.",
        ) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _unknown(path)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(LOOKED_AT_BYTES + 1)
    finally:
        os.close(descriptor)


def _unknown(path: str) -> FlowError:
    return FlowError(
        "file.unknown",
        f"There is no file {path[:200]!r} in the workspace's folder.",
        hint="Write the path from the workspace's folder, such as orders/2026-01.csv.",
    )
