"""Node kinds, one file each."""

from __future__ import annotations

from typing import Annotated

from ir.annotations import ByTag, tag_of
from ir.kinds import KindTable
from ir.nodes.base import NodeSpec
from ir.nodes.branch import Branch
from ir.nodes.source import Source, SourceColumn
from ir.nodes.target import Target, TargetColumn
from ir.nodes.transform import Transform
from ir.nodes.validate import Quarantine, Validate

NODE_KINDS = (Source, Transform, Branch, Validate, Target)
NODES: KindTable[type[NodeSpec]] = KindTable("node", ((tag_of(kind, "kind"), kind) for kind in NODE_KINDS))
Node = Annotated[Source | Transform | Branch | Validate | Target, ByTag("kind")]

__all__ = [
    "NODES",
    "NODE_KINDS",
    "Branch",
    "Node",
    "Quarantine",
    "Source",
    "SourceColumn",
    "Target",
    "TargetColumn",
    "Transform",
    "Validate",
]
