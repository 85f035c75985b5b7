"""What a new node begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ir.connectors import CONNECTORS
from ir.kinds import KindTable

Skeleton = Callable[[str, str], dict[str, Any]]
"""Makes a node's fields from the name of a connection and the id of the pipeline, either of them perhaps empty."""


FIRST_CONNECTOR = next(iter(CONNECTORS.values()))
"""What a new source reads from."""
NEW_RULE = {"onFail": "skip"}
"""What a rule begins with that a form adds: the first bad row is put aside, and does not stop the whole load."""


def _source(connection: str, pipeline: str) -> dict[str, Any]:
    return {"connector": FIRST_CONNECTOR.name, "config": dict(FIRST_CONNECTOR.starts_with)}


def _transform(connection: str, pipeline: str) -> dict[str, Any]:
    return {"inputs": [], "ops": []}


def _validate(connection: str, pipeline: str) -> dict[str, Any]:
    """Rejected rows are kept from the start: who finds out later that they were not has lost them."""
    table = pipeline.replace("-", "_") or "rejected"
    return {"inputs": [], "rowLevel": [], "quarantine": {"enabled": True, "table": f"dlq.{table}"}}


def _target(connection: str, pipeline: str) -> dict[str, Any]:
    location = {"connector": "postgres", "connection": connection, "schema": "public", "table": ""}
    return {"inputs": [], **location, "loadMode": "append"}


SKELETONS: KindTable[tuple[str, Skeleton]] = KindTable(
    "node",
    (
        ("source", ("source", _source)),
        ("transform", ("transform", _transform)),
        ("validate", ("check", _validate)),
        ("target", ("load", _target)),
    ),
)
"""By kind: the id that the first of them gets, and what it holds beside id and kind."""


def new_node(
    kind: str, taken: Iterable[str], connection: str = "", pipeline: str = "", reads: str = ""
) -> dict[str, Any]:
    """A node of that kind with an id of its own; raises KeyError. `reads` is the node that it reads from."""
    first, make = SKELETONS[kind]
    node = {"id": _free_id(first, set(taken)), "kind": kind, **make(connection, pipeline)}
    if "inputs" in node and reads:
        node["inputs"] = [reads]
    return node


def _free_id(first: str, taken: set[str]) -> str:
    number, slug = 1, first
    while slug in taken:
        number, slug = number + 1, f"{first}{number + 1}"
    return slug
