"""What the tasks of the pass have counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class RecordRef:
    """The position of a row in its source: file (its position in the source's order) and record number, as scanned."""

    file: int
    record: int


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How often one rule was violated, among the rows that it `evaluated` (explicit rules only). `first` holds up to 20
    positions in source order, for rules that may end the run. `message` describes the violation without row values.

    Implicit rules have ids of their own: `type:<column>`, `notNull:<column>`, `length:<column>`, `text:<column>` (NUL
    or broken UTF-8), `order:<column>` (rows of a key of which none is the last), `row` (a record the format cannot
    read). A row for which an expression fails violates `expression:<column>`, or `expression` if the column is unknown.
    The first such row ends its run; no others are searched, stored or counted.
    """

    node: str
    rule_id: str
    type: str
    field: str | None
    on_fail: str
    violations: int
    first: tuple[RecordRef, ...] = ()
    message: str = ""
    evaluated: int | None = None


@dataclass(frozen=True, slots=True)
class TaskCount:
    """The counts of one sink task. `task` is Spark's taskAttemptId, which all its staged and rejected rows carry.

    `dropped_at` counts rejected rows by the first node on the path (source, transform and validate nodes in order, then
    the target) with a rule that rejected them. `filtered_at` counts filtered rows by node. `matched_at` and
    `unmatched_at` count looked-up rows of joins, by `join_key`. `elsewhere_at` counts the rows that go to other
    branches of a node, `routed_at` the rows of each branch, by `branch_key`. `grouped_at` is the number
    of rows in the groups of aggregates minus the number of groups; the groups report the same number as `in_groups`.
    `rows_read` and `parts_read` come from readers that count what they read. `source` is the source node whose rows
    the task has read, if rows of several sources are united. `rows_exploded` is the number of exploded
    rows minus the number of their records; a rejected record adds none, because it counts as one row everywhere.
    """

    task: int
    rows_arrived: int
    rows_staged: int
    rows_rejected: int
    rows_warned: int
    rules: tuple[RuleCount, ...]
    dropped_at: Mapping[str, int] = field(default_factory=dict)
    filtered_at: Mapping[str, int] = field(default_factory=dict)
    matched_at: Mapping[str, int] = field(default_factory=dict)
    unmatched_at: Mapping[str, int] = field(default_factory=dict)
    rows_read: int = 0
    parts_read: int = 0
    elsewhere_at: Mapping[str, int] = field(default_factory=dict)
    routed_at: Mapping[str, int] = field(default_factory=dict)
    grouped_at: Mapping[str, int] = field(default_factory=dict)
    in_groups: int = 0
    rows_exploded: int = 0
    source: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceRead:
    """The reference that a join read. `name` is the displayed name of the file or table, or the number of files.
    `identity` is the SHA-256 of the file, of all files together, or of the database's snapshot. `rows` is None if the
    rows were not counted."""

    name: str
    identity: str
    rows: int | None = None


def join_key(node: str, reference: str) -> str:
    """Return the name of a join in counts. The references of one node differ."""
    return f"{node}/{reference}"


def branch_key(node: str, reader: str) -> str:
    """Return the name of a branch in counts; the node that it leads to identifies it."""
    return f"{node}/{reader}"


@dataclass(frozen=True, slots=True)
class PassResult:
    """The counts of the tasks whose output counts, and what the joins read, by the id of the reference."""

    tasks: tuple[TaskCount, ...]
    references: Mapping[str, ReferenceRead] = field(default_factory=dict)

    @property
    def winners(self) -> list[int]:
        return [t.task for t in self.tasks]

    def of(self, source: str) -> PassResult:
        """Return the counts of the tasks that have read the rows of a source."""
        return replace(self, tasks=tuple(task for task in self.tasks if task.source == source))

    def total(self, name: str) -> int:
        return sum(getattr(t, name) for t in self.tasks)

    def at_nodes(self, name: str) -> Counter[str]:
        """Sum `dropped_at`, `filtered_at` or the like of all tasks by node."""
        return sum((Counter(getattr(t, name)) for t in self.tasks), Counter())
