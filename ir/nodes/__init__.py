"""Node kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ir.nodes.source import Source, SourceColumn
from ir.nodes.target import Target, TargetColumn
from ir.nodes.transform import Transform
from ir.nodes.validate import Quarantine, Validate

NODE_KINDS = (Source, Transform, Validate, Target)
Node = Annotated[Source | Transform | Validate | Target, Field(discriminator="kind")]

__all__ = ["NODE_KINDS", "Node", "Quarantine", "Source", "SourceColumn", "Target", "TargetColumn", "Transform",
           "Validate"]  # fmt: skip
