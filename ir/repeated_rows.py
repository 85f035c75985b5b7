"""Rules about sources that return some rows again in each load."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from ir.connectors import CONNECTORS
from ir.diagnostics import Diagnostic, diagnose
from ir.graph import Graph
from ir.load_modes import load_mode
from ir.nodes import Source, Target
from ir.structure import DraftNode


def check_repeated_rows(graph: Graph) -> Iterator[Diagnostic]:
    """Check that a load replaces the rows that arrive again, so that the table has each of them once."""
    for node in graph.nodes:
        if not isinstance(node.spec, Target):
            continue
        mode = load_mode(node.spec.load_mode)
        if mode.needs_key or mode.replaces_all_rows:
            continue
        for head in graph.sources_of(node):
            if _repeats_rows(head):
                message = f"Each load gets some rows of {head.id} again, and {mode.name} would add them again."
                fix = [{"op": "replace", "path": str(node.at / "loadMode"), "value": "upsert"}]
                yield diagnose("source.repeats_rows", node.at / "loadMode", message, fixes=[fix])


def _repeats_rows(head: DraftNode) -> bool:
    if not isinstance(head.spec, Source) or head.spec.connector not in CONNECTORS:
        return False
    config = CONNECTORS[head.spec.connector].config
    try:
        return config is not None and config.read(head.spec.config).repeats_rows
    except ValidationError:
        return False  # reported with the settings
