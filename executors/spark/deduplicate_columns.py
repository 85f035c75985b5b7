"""What the op deduplicate does to the working columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.compiled import Deduplicate, Tie
from ir import ops

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def deduplicate(compiler: Compiler, op: ops.Deduplicate) -> None:
    """Mark the last row of each key; rows that are filtered out do not count, those that are bad all stay."""
    needed = [compiler.need(name) for name in op.keys]
    order = compiler.order_column(op.order_by, "deduplicate.order_type") if op.order_by is not None else None
    flags = frozenset().union(*(flags for _, flags in (*needed, *([order] if order else []))))
    bad, gone = compiler.bad_rows(flags), compiler.gone()
    keep = f"_flow_keep_{len(compiler.stages)}"
    compiler.stages.append(
        Deduplicate(
            keep,
            tuple(column for column, _ in needed),
            order and order[0],
            compiler.eligible(flags),
            f"NOT {gone} AND ({bad})",
            _tie(compiler, op.order_by, order[0]) if op.order_by and order else None,
        )
    )
    compiler.filter_column = compiler.filter_columns[compiler.node] = keep


def _tie(compiler: Compiler, order_by: str, column: str) -> Tie | None:
    """Where the source has no order, what tells rows that are equally last apart. What was dropped does not."""
    if compiler.keeps_order:
        return None
    return Tie(compiler.tie_flag(order_by, "none of them is the last"), column, compiler.all_used())
