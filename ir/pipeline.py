"""The document as a whole."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import JsonScalar
from ir.base import Id, PositiveNumber, Spec, Text
from ir.limits import MAX_NODES
from ir.nodes import Node, Source, Target, Transform, Validate
from ir.schedules import Schedule


class Metadata(Spec):
    name: Text | None = None
    description: Text | None = None
    owner: Text | None = None
    tags: list[Text] = Field(default=[])


class Retry(Spec):
    """How often a transient failure is tried. Without it: once when run by hand, three times on a schedule."""

    max_attempts: Annotated[int, Field(ge=1, le=100)] | None = None
    backoff: Literal["fixed", "exponential"] = "exponential"
    initial_seconds: Annotated[int | float, JsonScalar(("number",), ge=0, le=86_400)] = 10


class ErrorHandling(Spec):
    retry: Retry = Retry()
    max_minutes: PositiveNumber = 360


class Pipeline(Spec):
    """A pipeline of IR version 1.0."""

    schema_uri: Annotated[str | None, Field(alias="$schema")] = None
    kind: Literal["pipeline"]
    version: Literal["1.0"]
    id: Id
    metadata: Metadata = Metadata()
    schedule: Schedule | None = None
    error_handling: ErrorHandling = ErrorHandling()
    nodes: Annotated[list[Node], Field(min_length=1, max_length=MAX_NODES)]

    def node(self, node_id: str) -> Node:
        """The node of that id; raises KeyError."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def targets(self) -> list[Target]:
        return [node for node in self.nodes if isinstance(node, Target)]

    def path_to(self, target: Target) -> Path:
        """The chain of nodes that feeds a target, from its source on."""
        chain: list[Node] = []
        node: Node = target
        while not isinstance(node, Source):
            node = self.node(node.inputs[0])
            chain.append(node)
        chain.reverse()
        return Path(
            node,
            tuple(n for n in chain if isinstance(n, Transform)),
            tuple(n for n in chain if isinstance(n, Validate)),
            target,
        )


class Path:
    """One source, its transforms and validate nodes in order, and one target."""

    def __init__(
        self, source: Source, transforms: tuple[Transform, ...], validates: tuple[Validate, ...], target: Target
    ) -> None:
        self.source, self.transforms, self.validates, self.target = source, transforms, validates, target
