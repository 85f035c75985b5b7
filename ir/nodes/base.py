"""What every node has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from ir.base import Id, Number, Spec, Text
from ir.columns import Columns
from ir.limits import MAX_INPUTS
from ir.pointers import Pointer


class Position(Spec):
    """Where the canvas draws a node; the runtime ignores it."""

    x: Number
    y: Number


class NodeSpec(Spec):
    """A node. What it does to the set of columns, and which it must find, it says itself."""

    id: Id
    name: Text | None = None
    description: Text | None = None
    ui: Position | None = None

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        """The columns it needs, where it names them, and what is known of the columns there."""
        yield from ()

    def columns_after(self, columns: Columns) -> Columns:
        """What is known of the columns behind this node."""
        return columns


class InnerNode(NodeSpec):
    """A node that reads from others: from exactly one, until there are nodes that join."""

    inputs: Annotated[list[Id], Field(max_length=MAX_INPUTS)]
