"""What a preview of a node is asked for, and what it answers. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from executors.model import Connection
from ir.pipeline import Pipeline

SampleKind = Literal["first", "random", "failing"]
SAMPLE_KINDS: tuple[SampleKind, ...] = get_args(SampleKind)

LONGEST_VALUE = 500
"""Characters of a value that are shown. A longer one is cut, and its length stands behind it."""

Result = Literal["passed", "warned", "rejected", "filtered", "stops"]
"""What becomes of a row at the node; one that `stops` ends a run."""


@dataclass(frozen=True, slots=True)
class NodePreviewJob:
    """One preview. `pipeline` has one target, to which the node leads; if that is a stand-in, `without_target` says
    why. `seed` decides which rows are random."""

    id: str
    pipeline: Pipeline
    node: str
    sample: SampleKind
    connections: Mapping[str, Connection]
    files_folder: Path
    without_target: str = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ColumnPreview:
    """A column before or after the node, and how its values are spread over the rows that were read."""

    name: str
    type: str
    values: int
    nulls: int
    distinct: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a row violates, and what that does to the row. Rules on types have ids such as `type:amount`."""

    rule_id: str
    field: str | None
    message: str
    severity: str


@dataclass(frozen=True, slots=True)
class RowPreview:
    """A row that reaches the node. `before` and `after` hold its values in the order of the columns; what the node does
    not pass on has no `after`. `unreadable` are the columns after it whose value is not of their type, `raw` is the
    text of a record that could not be read."""

    file: str
    record: int
    result: Result
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None
    violations: tuple[Violation, ...] = ()
    unreadable: tuple[str, ...] = ()
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class RulePreview:
    """How often a rule of the node was violated, of how many rows that it looked at."""

    rule_id: str
    type: str
    field: str | None
    on_fail: str
    violations: int
    evaluated: int | None
    message: str = ""


@dataclass(frozen=True, slots=True)
class NodePreview:
    """The rows of a node. Counts are those of all rows that were read; `rows` are some of them.

    `extent` says what was read, `notes` what differs from a run over the whole source.
    """

    node: str
    kind: str
    sample: SampleKind
    extent: str
    rows_read: int
    rows_in: int
    rows_out: int
    rows_filtered: int
    rows_rejected: int
    before: tuple[ColumnPreview, ...] = ()
    after: tuple[ColumnPreview, ...] = ()
    rules: tuple[RulePreview, ...] = ()
    rows: tuple[RowPreview, ...] = ()
    notes: tuple[str, ...] = field(default=())
