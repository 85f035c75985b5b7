"""The folder of the taps of this installation."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from executors.api import TapFolder


def readable_folders() -> tuple[Path, ...]:
    """Return the folders that a tap may read on the command line: that of the current workspace, if it exists."""
    folder = settings.FILES_ROOT / settings.FLOW_WORKSPACE
    return (folder,) if folder.is_dir() else ()


def tap_folder() -> TapFolder:
    return TapFolder(settings.TAPS)
