"""The base of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field
from pydantic.config import JsonDict

from ir.base import Id, Number, Spec, Text
from ir.columns import Columns
from ir.limits import MAX_INPUTS
from ir.pointers import Pointer

GENERAL: JsonDict = {"group": "General", "advanced": True}


class Position(Spec):
    """Where the canvas draws the node. Runs do not use it."""

    x: Number = Field(title="X", description="Pixels from the left edge of the canvas.")
    y: Number = Field(title="Y", description="Pixels from the top edge of the canvas.")


class NodeSpec(Spec):
    """A node. It defines which columns it needs and how it changes the set of columns."""

    id: Id = Field(
        title="ID",
        description="Names the node in its pipeline: lower-case letters, digits, - and _.",
        json_schema_extra=GENERAL,
    )
    name: Text | None = Field(
        None, description="The name that pages show. Without it they show the ID.", json_schema_extra=GENERAL
    )
    description: Text | None = Field(
        None, description="What the node is for.", json_schema_extra=GENERAL | {"multiline": True}
    )
    ui: Position | None = Field(None, title="Position", description="Where the canvas draws the node.")

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        """Yield the columns that the node needs, the positions of their names, and what is known of the columns
        there."""
        yield from ()

    def columns_after(self, columns: Columns) -> Columns:
        """Return what is known of the columns after this node."""
        return columns


class InnerNode(NodeSpec):
    """A node that reads from another node; a transform node that joins or unites rows reads from several."""

    inputs: Annotated[list[Id], Field(max_length=MAX_INPUTS)] = Field(
        title="Reads from",
        description="The ID of the node whose rows this node reads. A transform node also lists the nodes in which "
        "its join operations look up rows, or all nodes whose rows its operation union unites.",
    )
