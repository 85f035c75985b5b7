"""Column names in the header of a source's newest file, as suggestions in the editor before the first run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from executors.api import peek_columns
from flowapp.accounts.models import Workspace
from ir.connectors import CONNECTORS
from ir.errors import FlowError
from ir.nodes import Source


def newest_header(workspace: Workspace, node: Mapping[str, Any]) -> list[str]:
    """Return the columns of the newest file that a source of a draft would read; empty if they are unknown."""
    connector = CONNECTORS.get(str(node.get("connector")))
    if connector is None or connector.config is None:
        return []
    sound = {"id": "source", "kind": "source", "connector": connector.name, "config": node.get("config")}
    try:
        return peek_columns(Source.read(sound), settings.FILES_ROOT / workspace.slug)
    except (FlowError, ValueError, OSError):
        return []  # Diagnostics or the run report errors in the draft or the file.
