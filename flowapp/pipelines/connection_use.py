"""Find the connections that documents name."""

from __future__ import annotations

import json
import tomllib
from typing import Any

from django.db.models import F

from flowapp.accounts.models import Workspace
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import PipelineVersion
from ir.connection_references import connection_references


def pipelines_naming(workspace: Workspace, name: str) -> list[str]:
    """Return the ids of pipelines whose newest version names the connection."""
    newest = PipelineVersion.objects.filter(pipeline__workspace=workspace, number=F("pipeline__latest_number"))
    found = newest.order_by("pipeline__slug").values_list("pipeline__slug", "document")
    return [slug for slug, text in found.iterator() if name in connections_in(text)]


def connections_in(text: str) -> set[str]:
    """Return the connections that a document names, also if this release cannot parse the document."""
    # Do not parse: a saved document is valid, and searching for errors would take most of the time of a page.
    return connections_of((json.loads if syntax_of(text) == "json" else tomllib.loads)(text.removeprefix("\ufeff")))


def connections_of(document: Any) -> set[str]:
    """Return the connections that the nodes, hooks and quarantines of a document name."""
    return {reference.name for reference in connection_references(document)}
