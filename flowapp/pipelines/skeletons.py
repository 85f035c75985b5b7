"""The initial fields of new nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ir.connectors import CONNECTORS, TARGET_CONNECTORS
from ir.kinds import KindTable
from ir.nodes import NODES

MakeFields = Callable[[str, str], dict[str, Any]]
"""Returns a node's fields for the name of a connection and the id of the pipeline; either may be empty."""


class Skeleton(NamedTuple):
    """The initial fields of a new node of a kind, besides id and kind. `first_id` is the id of the first such node;
    `read_by` lists the kinds that may read from it."""

    first_id: str
    fields: MakeFields
    read_by: tuple[str, ...]


FIRST_CONNECTOR = next(iter(CONNECTORS.values()))
"""The connector of a new source."""
FIRST_TARGET = next(iter(TARGET_CONNECTORS))
NEW_RULE = {"onFail": "skip"}
"""The initial fields of a rule that a form adds: a bad row is rejected and does not stop the load."""


def _source(connection: str, pipeline: str) -> dict[str, Any]:
    return {"connector": FIRST_CONNECTOR.name, "config": dict(FIRST_CONNECTOR.starts_with)}


def _transform(connection: str, pipeline: str) -> dict[str, Any]:
    return {"inputs": [], "ops": []}


def _branch(connection: str, pipeline: str) -> dict[str, Any]:
    return {"inputs": [], "branches": []}


def _validate(connection: str, pipeline: str) -> dict[str, Any]:
    """Store rejected rows from the start, because rejected rows that are not stored are lost."""
    table = pipeline.replace("-", "_") or "rejected"
    return {"inputs": [], "rowLevel": [], "quarantine": {"enabled": True, "table": f"dlq.{table}"}}


def _target(connection: str, pipeline: str) -> dict[str, Any]:
    location = {"connector": FIRST_TARGET, "connection": connection, "schema": "public", "table": ""}
    return {"inputs": [], **location, "loadMode": "append"}


INNER = ("transform", "branch", "validate", "target")

SKELETONS: KindTable[Skeleton] = KindTable(
    "node",
    (
        ("source", Skeleton("source", _source, INNER)),
        ("transform", Skeleton("transform", _transform, INNER)),
        ("branch", Skeleton("branch", _branch, INNER)),
        ("validate", Skeleton("check", _validate, ("validate", "target"))),
        ("target", Skeleton("load", _target, ())),
    ),
)
"""By kind, in the order in which a pipeline uses them."""


def new_node(
    kind: str, taken: Iterable[str], connection: str = "", pipeline: str = "", reads: str = ""
) -> dict[str, Any]:
    """Return a new node of that kind with a free id. Raises KeyError. `reads` is the node that it reads from."""
    skeleton = SKELETONS[kind]
    fields = skeleton.fields(connection, pipeline)
    node = {"id": _free_id(skeleton.first_id, set(taken)), "kind": kind, **fields}
    if "inputs" in node and reads:
        node["inputs"] = [reads]
    return node


def describe_kinds(connection: str, pipeline: str) -> list[dict[str, Any]]:
    """Describe the kinds for a program that adds nodes by the same rules as `new_node`."""
    return [
        {
            "kind": kind,
            "description": str(NODES[kind].__doc__).partition("\n")[0],
            "firstId": skeleton.first_id,
            "fields": skeleton.fields(connection, pipeline),
            "readBy": skeleton.read_by,
        }
        for kind, skeleton in SKELETONS.items()
    ]


def may_read(reader: str, kind: str) -> bool:
    """Return whether a node of the kind `reader` may read from one of `kind`."""
    return kind in SKELETONS and reader in SKELETONS[kind].read_by


def _free_id(first: str, taken: set[str]) -> str:
    number, slug = 1, first
    while slug in taken:
        number, slug = number + 1, f"{first}_{number + 1}"
    return slug
