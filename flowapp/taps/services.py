"""Remove taps that no pipeline uses, and describe installed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from executors.api import Tap, remove_tap
from executors.errors import Terminal
from flowapp.taps.folder import tap_folder
from flowapp.taps.usage import pipelines_with


def remove(name: str) -> Tap:
    """Remove a tap. Raises Terminal `singer.tap_unknown`, and `singer.tap_used` while a pipeline names it or a run uses
    it."""
    tap_folder().find(name)
    if pipelines := pipelines_with(name):
        raise Terminal(
            "singer.tap_used",
            f"{', '.join(pipelines)} {'name' if len(pipelines) > 1 else 'names'} the tap {name}.",
            hint="Save versions of these pipelines without it first.",
        )
    return remove_tap(tap_folder(), name)


def read_settings(path: Path) -> str:
    """Return the text of a file with settings. Raises Terminal `singer.file_unreadable`."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise Terminal("singer.file_unreadable", f"{path} cannot be read.", hint="Correct the path.") from None


def describe(tap: Tap) -> dict[str, Any]:
    """Return a tap for the output of commands."""
    return {
        "name": tap.name,
        "package": tap.package,
        "program": tap.executable,
        "settings": None if tap.settings is None else list(tap.settings),
        "sandbox": tap.sandbox,
        "addedAt": tap.added_at,
        "packages": list(tap.packages),
    }
