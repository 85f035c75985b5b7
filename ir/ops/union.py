"""`union`."""

from __future__ import annotations

from typing import ClassVar, Literal

from ir.ops.base import Op


class Union(Op):
    """Unites the rows of all inputs of this transform node, by the names of their columns.

    It is the first operation of its node. All inputs must have the same columns with the same types. Equal rows stay
    separate rows.
    """

    made_while_reading: ClassVar[bool] = True

    op: Literal["union"]
