"""The transform node: operations applied in order."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.nodes.base import InnerNode
from ir.ops import Op


class Transform(InnerNode):
    kind: Literal["transform"]
    ops: Annotated[list[Op], Field(min_length=1)]
