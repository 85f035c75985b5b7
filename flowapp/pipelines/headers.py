"""What the newest file of a source calls its columns, before anything has run: suggestions for the editor's forms."""

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
    """The columns of the newest file that a source of a draft would read; none where that cannot be told."""
    connector = CONNECTORS.get(str(node.get("connector")))
    if connector is None or connector.config is None:
        return []
    sound = {"id": "source", "kind": "source", "connector": connector.name, "config": node.get("config")}
    try:
        return peek_columns(Source.read(sound), settings.FILES_ROOT / workspace.slug)
    except (FlowError, ValueError, OSError):
        return []  # what is wrong with the draft or the file, its diagnostics or its run will say
