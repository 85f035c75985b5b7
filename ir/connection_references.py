"""The stored connections that a document names. Everything that resolves, checks or counts them searches here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ir.connectors import connection_kinds_of
from ir.pointers import ROOT, Pointer

QUARANTINE_KINDS = ("postgres",)
"""The kinds of connections to databases that can store rejected rows."""
HOOK_KINDS = ("webhook",)
"""The kinds of connections that hooks can name."""
BELOW_NODES = (("preHook", HOOK_KINDS), ("postHook", HOOK_KINDS), ("quarantine", QUARANTINE_KINDS))
"""The fields of nodes whose objects can name connections, with the kinds of these."""


class ConnectionReference(NamedTuple):
    """The name of a connection in a document, with the position of the name. `kinds` are the kinds that the connection
    may have; empty if they are unknown, or if the node needs no connection."""

    at: Pointer
    name: str
    kinds: tuple[str, ...]


def connection_references(document: Any) -> Iterator[ConnectionReference]:
    """Yield what the nodes, hooks and quarantines of a possibly invalid document name."""
    for at, holder, kinds in _holders(document):
        name = holder.get("connection")
        if isinstance(name, str) and name:
            yield ConnectionReference(at / "connection", name, kinds)


def kinds_for(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of connections that a node can name; empty if they are unknown, or if it needs none. A validate
    node names one in its quarantine."""
    if node.get("kind") == "validate":
        return QUARANTINE_KINDS
    try:
        return connection_kinds_of(node)
    except KeyError:
        return ()


def _holders(document: Any) -> Iterator[tuple[Pointer, dict[str, Any], tuple[str, ...]]]:
    """Yield what may name a connection, with its position and the kinds that the connection may have."""
    nodes = document.get("nodes") if isinstance(document, dict) else None
    for at, node in _objects(nodes if isinstance(nodes, list) else [], ROOT / "nodes"):
        yield at, node, kinds_for(node)
        for field, kinds in BELOW_NODES:
            yield from ((below, holder, kinds) for below, holder in _objects(node.get(field), at / field))


def _objects(value: Any, at: Pointer) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """Yield the objects of a list, or the single object in its place, with their positions."""
    items = [(at / i, item) for i, item in enumerate(value)] if isinstance(value, list) else [(at, value)]
    return ((item_at, item) for item_at, item in items if isinstance(item, dict))
