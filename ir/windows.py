"""The rule about windows: they include only the rows of the run, not those in the table."""

from __future__ import annotations

from collections.abc import Iterator

from ir.diagnostics import Diagnostic, diagnose
from ir.graph import Graph
from ir.load_modes import load_mode
from ir.nodes import Target, Transform
from ir.ops import Window
from ir.pointers import Pointer
from ir.structure import DraftNode


def check_windows(graph: Graph) -> Iterator[Diagnostic]:
    """Warn of windows before a target that retains the rows of earlier loads."""
    warned: set[Pointer] = set()
    for node in graph.nodes:
        if isinstance(node.spec, Target) and not load_mode(node.spec.load_mode).replaces_all_rows:
            for at in _windows_before(node, graph):
                if at not in warned:
                    warned.add(at)
                    message = f"{node.id} keeps the rows of earlier loads, which take no part in the window."
                    yield diagnose("window.part_of_rows", at, message)


def _windows_before(node: DraftNode, graph: Graph) -> Iterator[Pointer]:
    for above in (one for chain in graph.chains_to(node) for one in chain):
        if isinstance(above.spec, Transform):
            for i, op in enumerate(above.spec.ops):
                if isinstance(op, Window):
                    yield above.at / "ops" / i
