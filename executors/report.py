"""The report of a run: counts of nodes, rules, joins and branches, checks, warnings and hooks. Plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pydantic.alias_generators import to_camel

from executors.effects import Effect as Effect
from executors.model import ChunkChange, ChunkPlan, ReferenceRead, RuleCount


@dataclass(frozen=True, slots=True)
class JoinCount:
    """How many of the rows that a join looked up have a match in its reference. Rows that an earlier op of the node
    filtered, and rows rejected because of the type of their key, are not looked up."""

    reference: str
    type: str
    matched: int
    unmatched: int
    read: ReferenceRead | None = None


@dataclass(frozen=True, slots=True)
class BranchCount:
    """How many rows go to one branch, named by the node that it leads to."""

    to: str
    rows: int


@dataclass(slots=True)
class NodeReport:
    """Counts of one node. The counts of the load are set only on targets, `joins` only on transform nodes with joins.

    On a target, `rows_rejected` counts all rows rejected by rules on its path; `rows_rejected_here` counts the rows
    rejected by this node, and its sum over the path is `rows_rejected`. `rows_filtered` is the sum of the path on a
    target, and the node's own count elsewhere. `rows_elsewhere` counts rows that go to other branches, `rows_grouped`
    is the number of rows in groups minus the number of groups, `rows_exploded` the number of exploded rows minus the
    number of their records. `rows_in` is the output of the node before. On a branch node, `branches` counts the rows of
    each branch, and `taken` names the branch of the target's rows. `is_partial` means that the target of another branch
    counts the rows rejected by this node.
    """

    id: str
    kind: str
    rows_in: int = 0
    rows_out: int = 0
    rows_read: int | None = None
    rows_exploded: int | None = None
    rows_filtered: int | None = None
    rows_elsewhere: int | None = None
    rows_grouped: int | None = None
    rows_rejected: int | None = None
    rows_rejected_here: int | None = None
    rows_staged: int | None = None
    rows_replaced: int | None = None
    rows_behind_mark: int | None = None
    rows_suppressed: int | None = None
    rows_loaded: int | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_unchanged: int | None = None
    rows_deleted: int | None = None
    rows_warned: int | None = None
    duration_ms: int = 0
    joins: tuple[JoinCount, ...] = ()
    branches: tuple[BranchCount, ...] = ()
    taken: str = ""
    is_partial: bool = False

    @classmethod
    def nothing(cls, target: str) -> NodeReport:
        """Build the report of a target that has no new data."""
        counts: dict[str, Any] = {name: 0 for name in cls.__dataclass_fields__ if name.startswith("rows_")}
        return cls(target, "target", **counts)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a dataset check on the staged rows of a target. `subject` distinguishes checks of the same kind. A
    `message` on a check that is `ok` is a warning.
    """

    node: str
    check: str
    ok: bool
    message: str | None
    observed: Any
    on_fail: str = "abort"
    target: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class RunWarning:
    code: str
    node: str | None
    message: str


@dataclass(frozen=True, slots=True)
class TargetCounts:
    """The input of one target (files by hash; none for other sources), and the counts of every node on its path."""

    files: frozenset[str] = frozenset()
    nodes: Sequence[NodeReport] = ()
    rules: Sequence[RuleCount] = ()


@dataclass(frozen=True, slots=True)
class HookReport:
    """The outcome of one hook: `succeeded`, `failed` or `not_run`. `statement` describes its action in words or SQL."""

    id: str
    node: str
    kind: str
    stage: str
    state: str
    statement: str
    message: str = ""
    duration_ms: int = 0

    def to_json(self) -> dict[str, Any]:
        return {to_camel(key): value for key, value in asdict(self).items()}


@dataclass(slots=True)
class RunReport:
    """The report of a run.

    `executors.commit_report.put_counts` derives `nodes` and `rules` from `target_counts`. For a run over rejected rows,
    `row_counts` counts rows by result, and `row_results` lists the result of each row that a check without a load
    examined; these results may contain values. `plan` are the chunks that a backfill has planned; `chunk_changes` are
    those whose rows have changed in the source when the backfill ended. `staged_bytes` is the size of the rows of a
    chunk in staging.
    """

    target_counts: dict[str, TargetCounts] = field(default_factory=dict)
    nodes: list[NodeReport] = field(default_factory=list)
    rules: list[RuleCount] = field(default_factory=list)
    checks: list[CheckReport] = field(default_factory=list)
    quarantine_rows: int = 0
    quarantine_entries: int = 0
    quarantine_tables: list[str] = field(default_factory=list)
    warnings: list[RunWarning] = field(default_factory=list)
    hooks: list[HookReport] = field(default_factory=list)
    nothing_new: bool = False
    nothing_new_reason: str = ""
    effects: list[Effect] = field(default_factory=list)
    row_counts: dict[str, int] = field(default_factory=dict)
    row_results: list[dict[str, Any]] = field(default_factory=list)
    plan: ChunkPlan | None = None
    chunk_changes: list[ChunkChange] = field(default_factory=list)
    staged_bytes: int = 0
