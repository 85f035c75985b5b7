"""Compiles the op deduplicate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.compiled import Deduplicate, Tie
from ir import ops

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def deduplicate(compiler: Compiler, op: ops.Deduplicate) -> None:
    """Mark the last row of each key. Filtered rows are ignored; all bad rows are marked."""
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
    """Return the tie of the op if the source has no order, else None. Dropped columns are not compared."""
    if compiler.keeps_order:
        return None
    return Tie(compiler.tie_flag(order_by, "none of them is the last"), column, compiler.all_used())
