"""The source node: where rows come from."""

from __future__ import annotations

from typing import Any, Literal

from ir.base import Id, Spec
from ir.nodes.base import NodeSpec
from ir.types import TypeName


class SourceColumn(Spec):
    """A declared column. What is not declared arrives as text (csv, tsv, json, jsonl) or as the file types it."""

    name: str
    type: TypeName
    nullable: bool = True
    format: str | None = None


class Source(NodeSpec):
    kind: Literal["source"]
    connector: str
    connection: Id | None = None
    config: dict[str, Any]
    columns: list[SourceColumn] | None = None
