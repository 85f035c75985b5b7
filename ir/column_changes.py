"""Rules about the changes of columns that a source allows."""

from __future__ import annotations

from collections.abc import Iterator

from ir.diagnostics import Diagnostic, diagnose
from ir.graph import Graph, known_columns
from ir.nodes import Source, Target
from ir.pointers import Pointer


def check_column_changes(graph: Graph) -> Iterator[Diagnostic]:
    """Warn of a policy that new columns never reach, because operations between source and target fix the columns."""
    sources = [node for node in graph.nodes if isinstance(node.spec, Source) and node.spec.schema_policy != "freeze"]
    if not sources:
        return
    arriving, is_closed = known_columns(graph), dict[Pointer, list[bool]]()
    for node in graph.nodes:
        if isinstance(node.spec, Target):
            for head in graph.sources_of(node):
                is_closed.setdefault(head.at, []).append(arriving[node.at].closed)
    for node in sources:
        if all(is_closed.get(node.at, [False])):
            message = f"Operations after {node.id} name all columns that go on, so that no new column reaches a table."
            yield diagnose("schema.columns_fixed", node.at / "schemaPolicy", message)
