"""The branch node: sends each row to one of the nodes that read from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from ir.base import Id, Spec, Text
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.expressions.checking import check_expression, expression_reads
from ir.limits import MAX_INPUTS
from ir.nodes.base import InnerNode
from ir.nodes.transform import Transform
from ir.ops import Op
from ir.pointers import Pointer

BRANCHES: JsonDict = {"group": "Branches"}


class BranchTo(Spec):
    """One branch: the rows for which its condition is true, and for which no earlier one is."""

    to: Id = Field(
        title="Leads to",
        description="The ID of the node that gets the rows. It reads from this node.",
        examples=["load_eu"],
        json_schema_extra={"suggests": "readers"},
    )
    where: Text = Field(
        title="Condition",
        description="A Spark SQL condition. For a row for which it is false or NULL, the next condition is evaluated.",
        examples=["region = 'EU'"],
        json_schema_extra={"multiline": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_expression(self.where, at / "where")


class Branch(InnerNode):
    """Sends each row to the first branch whose condition is true, the others to the default branch."""

    model_config = ConfigDict(json_schema_extra={"groups": ["General", "Branches"]})

    kind: Literal["branch"]
    branches: Annotated[list[BranchTo], Field(min_length=1, max_length=MAX_INPUTS)] = Field(
        title="Branches",
        description="Branches in the order in which their conditions are evaluated. A row goes to exactly one.",
        json_schema_extra=BRANCHES,
    )
    default: Id | None = Field(
        None,
        title="Default branch",
        description="The ID of the node that gets the rows for which no condition is true. It reads from this node.",
        json_schema_extra=BRANCHES | {"suggests": "readers"},
    )
    on_no_match: Literal["reject", "filter"] = Field(
        "reject",
        title="Without a default branch",
        description="What happens to rows for which no condition is true, if there is no default branch.",
        json_schema_extra=BRANCHES | {"labels": {"reject": "Reject them", "filter": "Filter them out"}},
    )

    @property
    def readers(self) -> tuple[str, ...]:
        """The nodes that branches lead to, the default branch last."""
        return (*(branch.to for branch in self.branches), *([self.default] if self.default else []))

    @property
    def rejects(self) -> bool:
        """Return whether rows for which no condition is true are rejected."""
        return self.default is None and self.on_no_match == "reject"

    def leading_to(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        """Yield the nodes that branches lead to, each with the position of its name."""
        for i, branch in enumerate(self.branches):
            yield branch.to, at / "branches" / i / "to"
        if self.default is not None:
            yield self.default, at / "default"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        seen: set[str] = set()
        for name, pointer in self.leading_to(at):
            if name in seen:
                yield diagnose("branch.to_repeated", pointer, f"Two branches lead to {shown(name)}.")
            seen.add(name)

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        for i, branch in enumerate(self.branches):
            for column, pointer in expression_reads(branch.where, at / "branches" / i / "where"):
                yield column, pointer, columns


class Take(Op):
    """Selects the rows of one branch of a branch node. Documents do not contain it: it distinguishes the path through a
    branch from the other paths."""

    op: Literal["take"]
    branch: Branch
    to: Id

    @property
    def filters_rows(self) -> bool:
        return True

    @property
    def number(self) -> int:
        """The index of the branch in `Branch.readers`."""
        return self.branch.readers.index(self.to)

    @property
    def takes_bad(self) -> bool:
        """Whether this branch gets rows whose conditions cannot be evaluated: only the first branch does, so that such
        a row is rejected once."""
        return self.number == 0

    def reads(self, at: Pointer) -> Iterator[tuple[str, Pointer]]:
        return ((column, place) for column, place, _ in self.branch.reads(at, Columns()))


def take(branch: Branch, to: str) -> Transform:
    """Return a branch node in the form for the path through one of its branches."""
    op: Any = Take(op="take", branch=branch, to=to)
    return Transform.model_construct(id=branch.id, kind="transform", inputs=branch.inputs, ops=[op])


def taken_of(transform: Transform) -> Take | None:
    """Return the branch that a path takes at a node; None for a transform node of the document."""
    ops: list[Any] = transform.ops
    return next((op for op in ops if isinstance(op, Take)), None)
