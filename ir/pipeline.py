"""The pipeline document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import JsonScalar
from ir.backfill import Backfill
from ir.base import Id, PositiveNumber, Spec, Text
from ir.limits import MAX_NODES
from ir.nodes import Branch, Node, Source, Target, Transform, Validate
from ir.nodes.branch import take
from ir.ops import Explode, Join
from ir.schedules import Schedule


class Metadata(Spec):
    """Information about the pipeline for users. Runs do not use it."""

    name: Text | None = Field(None, description="The name that pages show. Without it they show the ID.")
    description: Text | None = Field(
        None, description="What the pipeline is for.", json_schema_extra={"multiline": True}
    )
    owner: Text | None = Field(None, description="The person or team to ask.", examples=["data-platform"])
    tags: list[Text] = Field(default=[], description="Tags by which the list of pipelines can be filtered.")


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
        description="A run that takes longer fails. Uncommitted rows are not loaded.",
        json_schema_extra={"unit": "min"},
    )


class Pipeline(Spec):
    """A pipeline: its sources, the operations on their rows, and the tables that it loads."""

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
    metadata: Metadata = Field(Metadata(), title="About", description="Name, description, owner and tags.")
    schedule: Schedule | None = Field(
        None,
        title="Schedule",
        description="When the pipeline runs automatically. Without a schedule, it runs only manually.",
    )
    backfill: Backfill | None = Field(
        None,
        title="Backfill",
        description="How the history of the source is loaded in chunks before scheduled runs load what is new. Without "
        "it, the first run loads everything at once.",
        json_schema_extra={"advanced": True},
    )
    error_handling: ErrorHandling = Field(
        ErrorHandling(),
        title="Error handling",
        description="When a run is tried again, and when it is stopped.",
        json_schema_extra={"advanced": True},
    )
    nodes: Annotated[list[Node], Field(min_length=1, max_length=MAX_NODES)] = Field(
        title="Nodes", description="Sources, transforms, validations and targets, in any order."
    )

    def node(self, node_id: str) -> Node:
        """Return the node of that id; raises KeyError."""
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def targets(self) -> list[Target]:
        return [node for node in self.nodes if isinstance(node, Target)]

    def path_to(self, target: Target) -> Path:
        """Return the first of the paths to a target. All of them have the same validate nodes."""
        return self.paths_to(target)[0]

    def paths_to(self, target: Target) -> tuple[Path, ...]:
        """Return the path of nodes from each source to a target, with the paths that it joins. A target has several
        paths if its rows are united."""
        return tuple(self._path(chain, target) for chain in self._chains_to(self.node(target.inputs[0])))

    def sources_of(self, target: Target) -> tuple[Source, ...]:
        """Return the sources whose rows a target loads."""
        return tuple(path.source for path in self.paths_to(target))

    def _chains_to(self, last: Node) -> list[list[Node]]:
        chain: list[Node] = []
        while not isinstance(last, Source):
            chain.insert(0, last)
            if isinstance(last, Transform) and last.unites:
                return [[*head, *chain] for name in last.inputs for head in self._chains_to(self.node(name))]
            last = self.node(last.inputs[0])
        return [[last, *chain]]

    def _path(self, chain: Sequence[Node], target: Target) -> Path:
        source = chain[0]
        if not isinstance(source, Source):
            raise LookupError(f"{source.id} is not a source")
        readers = [node.id for node in (*chain[1:], target)]
        transforms = tuple(
            take(node, reader) if isinstance(node, Branch) else node
            for node, reader in zip(chain, readers, strict=True)
            if isinstance(node, Transform | Branch)
        )
        # An unreadable value would be missing in the rows that look it up, whatever the target allows.
        strict = target.model_copy(update={"on_type_mismatch": "abort"})
        references = {
            name: self._path(self._chains_to(self.node(name))[0], strict)
            for node in transforms
            for name in node.references
        }
        validates = tuple(node for node in chain if isinstance(node, Validate))
        return Path(source, transforms, validates, target, references)


class Path:
    """One source, its transforms and validate nodes in order, and one target.

    `references` are the paths of the nodes that the transforms join with, by their ids; `given` may have more. Their
    target is that of the path, which provides the settings.
    """

    def __init__(
        self,
        source: Source,
        transforms: tuple[Transform, ...],
        validates: tuple[Validate, ...],
        target: Target,
        given: Mapping[str, Path] | None = None,
    ) -> None:
        self.source, self.transforms, self.validates, self.target = source, transforms, validates, target
        names = [op.with_ for node in transforms for op in node.ops if isinstance(op, Join)]
        self.references: Mapping[str, Path] = {name: (given or {})[name] for name in names}

    @property
    def explode(self) -> tuple[str, Explode] | None:
        """The op explode of the path and the id of its node; None if there is none."""
        found = ((node.id, op) for node in self.transforms for op in node.ops if isinstance(op, Explode))
        return next(found, None)

    @property
    def own_nodes(self) -> frozenset[str]:
        """The ids of the nodes before the rows are united with those of other paths; none if they are not."""
        ids = [self.source.id]
        for node in self.transforms:
            if node.unites:
                return frozenset(ids)
            ids.append(node.id)
        return frozenset()

    @property
    def reference_nodes(self) -> frozenset[str]:
        """The ids of all nodes that belong to references."""
        parts = (node for path in self.references.values() for node in (path.source, *path.transforms))
        return frozenset(node.id for node in parts)
