"""Compiles a branch node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from executors.spark.compiled import Derive, Routes
from executors.spark.expression_columns import condition
from executors.spark.steps import flags_of
from executors.validation import NoBranchFlag
from ir.nodes.branch import Take
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.spark.columns import Compiler


def take(compiler: Compiler, op: Take) -> None:
    """Compute the branch of each row, and keep the rows of one branch. Bad rows follow the first branch. Rows that end
    the run follow every branch: whichever target is first in the document, none may load before they are found."""
    for name, working in list(compiler.working.items()):
        if flags_of(working.steps):
            compiler.need(name)
    conditions = [condition(compiler, branch.where, "branch.not_boolean") for branch in op.branch.branches]
    flags = compiler.tried_flags().union(*(found for _, found in conditions))
    whens = "".join(f" WHEN {sql} THEN {number}" for number, (sql, _) in enumerate(conditions))
    readers, column = op.branch.readers, f"_flow_route_{len(compiler.stages)}"
    number = f"CASE{whens} ELSE {len(conditions)} END"
    compiler.stages.append(Derive(((column, compiler.guarded(number, flags)),)))
    compiler.frame[column] = ColumnType("integer")
    compiler.routes.append(Routes(compiler.node, column, readers, not op.branch.rejects))
    _route(compiler, op, column, flags)


def _route(compiler: Compiler, op: Take, column: str, flags: frozenset[str]) -> None:
    """Keep the rows of a branch."""
    wanted, ends, rejects = f"{column} = {op.number}", compiler.ending_rows(), op.takes_bad and op.branch.rejects
    if rejects:
        flag = f"_flow_flag_{len(compiler.flags)}"
        compiler.flags.append(NoBranchFlag(flag, compiler.node))
        compiler.frame[flag] = ColumnType("boolean")
        compiler.stages.append(Derive(((flag, f"coalesce({column} = {len(op.branch.readers)}, FALSE)"),)))
        wanted = f"({wanted} OR {flag})"
    compiler.keep_where(f"{wanted} OR {ends}", flags, bad="TRUE" if op.takes_bad else f"({ends})")
