"""Paths below the workspace's folder in documents. Links are checked when a path is opened."""

from __future__ import annotations

from collections.abc import Iterator

from ir.diagnostics import Diagnostic, diagnose, shown
from ir.patterns import unknown_tokens
from ir.pointers import Pointer

_LONGEST = 1000


def check_folder(path: str, at: Pointer, *, tokens: bool) -> Iterator[Diagnostic]:
    """Check that a folder does not leave its root. `tokens` allows date tokens such as `{YYYY-MM-DD}`."""
    if path.startswith(("/", "~")) or "\\" in path or ".." in path.split("/") or path[1:2] == ":":
        yield diagnose("path.not_inside", at, f"The path {shown(path)} can lead outside the workspace's folder.")
    if len(path.encode()) > _LONGEST:
        yield diagnose("value.length", at, f"The path is longer than {_LONGEST} bytes.")
    if tokens and (unknown := unknown_tokens(path)):
        yield diagnose("pattern.malformed", at, f"Unknown date token {shown(unknown[0])}.")
