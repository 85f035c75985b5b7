"""The transform node: operations applied in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ir.columns import Columns
from ir.nodes.base import InnerNode
from ir.ops import Aggregate, AnyOp, Join, Union
from ir.pointers import Pointer


class Transform(InnerNode):
    """Changes rows and columns, one operation after the other."""

    model_config = ConfigDict(json_schema_extra={"groups": ["General", "Operations"]})

    kind: Literal["transform"]
    ops: Annotated[list[AnyOp], Field(min_length=1)] = Field(
        title="Operations",
        description="Operations in the order in which they run. Each one sees the result of the one before.",
        json_schema_extra={"group": "Operations"},
    )

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        for i, op in enumerate(self.ops):
            for column, pointer in op.reads(at / "ops" / i):
                yield column, pointer, columns
            columns = op.columns_after(columns)

    def adds(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        """Yield the columns that ops add and that must not exist before, each with its position and what is known of
        the columns before."""
        for i, op in enumerate(self.ops):
            for column, pointer in op.adds(at / "ops" / i):
                yield column, pointer, columns
            columns = op.columns_after(columns)

    @property
    def aggregates(self) -> bool:
        """Whether rows leave the node as groups."""
        return any(isinstance(op, Aggregate) for op in self.ops)

    @property
    def unites(self) -> bool:
        """Whether the rows of all inputs pass through the node. Without `union`, further inputs are references."""
        return any(isinstance(op, Union) for op in self.ops)

    @property
    def references(self) -> list[str]:
        """The inputs in which joins look rows up."""
        return [] if self.unites else self.inputs[1:]

    def joins(self, at: Pointer) -> Iterator[tuple[Join, Pointer]]:
        """Yield the joins, each with its position."""
        for i, op in enumerate(self.ops):
            if isinstance(op, Join):
                yield op, at / "ops" / i

    def columns_after(self, columns: Columns) -> Columns:
        for op in self.ops:
            columns = op.columns_after(columns)
        return columns
