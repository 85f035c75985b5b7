"""Rules about the tables for rejected rows: each is in a database, and no target loads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from ir.connectors import TARGET_CONNECTORS
from ir.diagnostics import Diagnostic, Patch, diagnose, shown
from ir.graph import Graph
from ir.names import parse_table_name
from ir.nodes import Target, Validate
from ir.nodes.validate import Quarantine
from ir.pipeline import Pipeline
from ir.pointers import Pointer


def check_quarantines(graph: Graph) -> Iterator[Diagnostic]:
    """Yield the errors of all rules in this module."""
    found = [(node, node.spec.quarantine) for node in graph.nodes if isinstance(node.spec, Validate)]
    served = _served(graph) if any(quarantine for _, quarantine in found) else {}
    loaded = {(t.connection, t.schema_, t.table) for node in graph.nodes if isinstance(t := node.spec, Target)}
    for node, quarantine in found:
        if quarantine is not None:
            targets, at = served.get(node.at, ()), node.at / "quarantine"
            if quarantine.enabled:
                yield from _check_connection(quarantine, targets, at / "connection")
            yield from _check_table(quarantine, targets, loaded, at / "table")
    yield from {several.path: several for several in _several_databases(graph)}.values()


def needs_connection(target: Target) -> bool:
    """Return whether rejected rows of a target can only be stored in another database than its own."""
    connector = TARGET_CONNECTORS.get(target.connector)
    return connector is not None and connector.quarantine_elsewhere


def rejects_connection(document: Pipeline, target: Target) -> str | None:
    """Return the connection of the database that stores the rejected rows of a target of a valid document; None if its
    own connection leads to no database and its rejected rows are only counted."""
    if not needs_connection(target):
        return target.connection
    stored = (node.quarantine for node in document.path_to(target).validates)
    return next((quarantine.connection for quarantine in stored if quarantine and quarantine.enabled), None)


def _served(graph: Graph) -> Mapping[Pointer, Sequence[Target]]:
    """Return the targets whose rows come through each node, by the position of the node."""
    served: dict[Pointer, list[Target]] = defaultdict(list)
    for node in graph.nodes:
        if isinstance(node.spec, Target):
            for above in {above.at for chain in graph.chains_to(node) for above in chain}:
                served[above].append(node.spec)
    return served


def _check_connection(quarantine: Quarantine, targets: Sequence[Target], at: Pointer) -> Iterator[Diagnostic]:
    """Report the first of the targets that needs a connection if there is none, or that has another one."""
    known = [target for target in targets if target.connector in TARGET_CONNECTORS]
    elsewhere = next((target for target in known if needs_connection(target)), None)
    own = [target for target in known if not needs_connection(target)]
    other = next((target for target in own if target.connection != quarantine.connection), None)
    if quarantine.connection is None and elsewhere is not None:
        tables = TARGET_CONNECTORS[elsewhere.connector].tables
        message = f"{tables} are not in a database that can store the rejected rows of {elsewhere.id}."
        yield diagnose("quarantine.connection_required", at, message, fixes=_removal_of(at.parent))
    elif quarantine.connection is not None and other is not None:
        tables = TARGET_CONNECTORS[other.connector].tables
        message = (
            f"{other.id} has the connection {shown(other.connection)}. Rejected rows of {tables} are stored in the "
            "target's database, so that one transaction commits both."
        )
        yield diagnose("quarantine.connection_differs", at, message, fixes=_removal_of(at))


def _several_databases(graph: Graph) -> Iterator[Diagnostic]:
    """Report quarantines of a target that has another quarantine in another database, because one transaction records
    what a load has rejected."""
    for target in graph.nodes:
        if not isinstance(target.spec, Target) or not needs_connection(target.spec):
            continue
        above = {node.at: node for chain in graph.chains_to(target) for node in chain}
        stored = [(node, node.spec.quarantine) for node in above.values() if isinstance(node.spec, Validate)]
        named = [(node, q.connection) for node, q in stored if q is not None and q.enabled and q.connection]
        for node, connection in named[1:]:
            first, wanted = named[0]
            if connection != wanted:
                at = node.at / "quarantine" / "connection"
                message = f"The quarantine of {first.id}, through which the same rows come, names {shown(wanted)}."
                fixes = [[{"op": "replace", "path": str(at), "value": wanted}]]
                hint = "Name the same connection in all quarantines of a target."
                yield diagnose("quarantine.connection_differs", at, message, hint=hint, fixes=fixes)


def _removal_of(at: Pointer) -> list[Patch]:
    return [[{"op": "remove", "path": str(at)}]]


def _check_table(
    quarantine: Quarantine, targets: Sequence[Target], loaded: Set[tuple[str, str, str]], at: Pointer
) -> Iterator[Diagnostic]:
    """Refuse a table that a target loads, in the database of the quarantine or of the targets that it serves."""
    name = _parsed(quarantine.table)
    connections = [quarantine.connection] if quarantine.connection else [target.connection for target in targets]
    if name is not None and any((connection, *name) in loaded for connection in connections):
        yield diagnose("quarantine.is_target", at, "A target of the pipeline loads this table.")


def _parsed(text: str | None) -> tuple[str, str] | None:
    try:
        return parse_table_name(text) if text is not None else None
    except ValueError:
        return None  # reported by the quarantine's own check
