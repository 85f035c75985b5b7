"""What the newest file of a source calls its columns, before anything has run: suggestions for the editor's forms."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from django.conf import settings

from executors.api import read_header
from executors.model import SourceFile
from flowapp.accounts.models import Workspace
from ir.connectors import CONNECTORS
from ir.connectors.local_fs import LocalFsConfig
from ir.errors import FlowError
from ir.formats import Csv, Tsv
from ir.patterns import compile_pattern

MOST_ENTRIES = 1000
"""Of a folder with more, the newest file is not worth finding out while a page waits."""


def newest_header(workspace: Workspace, node: Mapping[str, Any]) -> list[str]:
    """The columns of the newest file that a source of a draft would read; none where that cannot be told."""
    connector = node.get("connector")
    if connector not in CONNECTORS or CONNECTORS[connector].config is not LocalFsConfig:
        return []
    try:
        config = LocalFsConfig.read(node.get("config"))
        file = _newest(settings.FILES_ROOT / workspace.slug, config)
        return read_header(file, config.format) if file and isinstance(config.format, Csv | Tsv) else []
    except (FlowError, ValueError, OSError):
        return []  # what is wrong with the draft or the file, its diagnostics or its run will say


def _newest(root: Path, config: LocalFsConfig) -> SourceFile | None:
    root = root.resolve()
    folder = (root / config.path).resolve()
    if not folder.is_relative_to(root):
        return None
    matches = compile_pattern(config.pattern, datetime.fromtimestamp(time.time(), UTC))
    with os.scandir(folder) as entries:
        few = list(islice(entries, MOST_ENTRIES + 1))
    found = [entry for entry in few if matches(entry.name) and entry.is_file(follow_symlinks=False)]
    if not found or len(few) > MOST_ENTRIES:
        return None
    status = {entry.path: entry.stat() for entry in found}
    path = max(status, key=lambda path: status[path].st_mtime_ns)
    return SourceFile(0, path, Path(path).name, status[path].st_size, status[path].st_mtime_ns)
