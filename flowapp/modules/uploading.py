"""Reads an uploaded module, up to the largest size that a module may have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from executors.api import MODULE_BYTES
from ir.errors import FlowError


def read_module(file: UploadedFile[Any]) -> bytes:
    """Return the bytes of the file, with one byte too many if it is too large."""
    return bytes(file.read(MODULE_BYTES + 1))


def read_module_file(path: Path) -> bytes:
    """Return the bytes of a file of this machine. Raises FlowError `custom.file_unreadable`."""
    try:
        with path.open("rb") as file:
            return file.read(MODULE_BYTES + 1)
    except OSError as error:
        raise FlowError("custom.file_unreadable", f"{path} cannot be read: {error.strerror}.") from None
