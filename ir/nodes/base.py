"""What every node has."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ir.base import Id, Spec, Text


class Position(Spec):
    """Where the canvas draws a node; the runtime ignores it."""

    x: int | float
    y: int | float


class NodeSpec(Spec):
    id: Id
    name: Text | None = None
    description: Text | None = None
    ui: Position | None = None


class InnerNode(NodeSpec):
    """A node that reads from others."""

    inputs: Annotated[list[Id], Field(min_length=1)]
