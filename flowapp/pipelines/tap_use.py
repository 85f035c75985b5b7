"""Find the pipelines that name a tap."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from django.db.models import F

from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import PipelineVersion


def pipelines_naming_tap(tap: str) -> list[str]:
    """Return the pipelines of all workspaces whose newest version names a tap, as `workspace/pipeline`."""
    newest = PipelineVersion.objects.filter(number=F("pipeline__latest_number"), document__contains="singer")
    found = newest.order_by("pipeline__workspace__slug", "pipeline__slug")
    values = found.values_list("pipeline__workspace__slug", "pipeline__slug", "document").iterator()
    return [f"{workspace}/{slug}" for workspace, slug, text in values if tap in _taps_in(text)]


def _taps_in(text: str) -> set[str]:
    """Return the taps that a document names, also if this release cannot parse the document."""
    document = (json.loads if syntax_of(text) == "json" else tomllib.loads)(text.removeprefix("\ufeff"))
    nodes = document.get("nodes") if isinstance(document, dict) else None
    sources = (node for node in (nodes if isinstance(nodes, list) else ()) if isinstance(node, dict))
    return {str(_config(node).get("tap")) for node in sources if node.get("connector") == "singer"}


def _config(node: dict[str, Any]) -> dict[str, Any]:
    config = node.get("config")
    return config if isinstance(config, dict) else {}
