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
    """What people need to know about the pipeline. Runs do not use it."""

    name: Text | None = Field(None, description="The name that pages show. Without it they show the ID.")
    description: Text | None = Field(
        None, description="What the pipeline is for.", json_schema_extra={"multiline": True}
    )
    owner: Text | None = Field(None, description="The person or team to ask.", examples=["data-platform"])
    tags: list[Text] = Field(default=[], description="Words that the list of pipelines can filter by.")


class Retry(Spec):
    """How often to try again after a transient failure, such as a lost connection."""

    max_attempts: Annotated[int, Field(ge=1, le=100)] | None = Field(
        None,
        title="Attempts",
        description="The number of attempts, the first included. Without it: 1 for a manual run, 3 for a scheduled "
        "run.",
    )
    backoff: Literal["fixed", "exponential"] = Field(
        "exponential",
        description="fixed waits the same time before each attempt; exponential doubles it each time.",
    )
    initial_seconds: Annotated[int | float, JsonScalar(("number",), ge=0, le=86_400)] = Field(
        10,
        title="First wait",
        description="How long to wait before the second attempt.",
        json_schema_extra={"unit": "s"},
    )


class ErrorHandling(Spec):
    """When a run is tried again, and when it is stopped."""

    retry: Retry = Field(
        Retry(),
        title="Retries",
        description="How often to try again after a transient failure, such as a lost connection.",
    )
    max_minutes: PositiveNumber = Field(
        360,
        title="Stop after",
        description="A run that takes longer fails. Nothing that it has not committed is loaded.",
        json_schema_extra={"unit": "min"},
    )


class Pipeline(Spec):
    """A pipeline: where rows come from, what happens to them, and which tables they are loaded into."""

    schema_uri: str | None = Field(
        None, alias="$schema", title="JSON Schema", description="The address of this schema, for editors."
    )
    kind: Literal["pipeline"]
    version: Literal["1.0"]
    id: Id = Field(
        title="ID",
        description="Names the pipeline in its workspace: lower-case letters, digits, - and _.",
        examples=["orders"],
    )
    metadata: Metadata = Field(Metadata(), title="About", description="Name, description, owner and tags, for people.")
    schedule: Schedule | None = Field(
        None,
        title="Schedule",
        description="When the pipeline runs automatically. Without a schedule, it runs only manually.",
    )
    error_handling: ErrorHandling = Field(
        ErrorHandling(), title="Error handling", description="When a run is tried again, and when it is stopped."
    )
    nodes: Annotated[list[Node], Field(min_length=1, max_length=MAX_NODES)] = Field(
        title="Nodes", description="Sources, transforms, validations and targets, in any order."
    )

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
