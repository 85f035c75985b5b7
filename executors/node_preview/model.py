"""The job and the result of a preview of a node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from executors.model import Connection, ModuleCode, StoreConnection
from ir.pipeline import Pipeline

SampleKind = Literal["first", "random", "failing"]
SAMPLE_KINDS: tuple[SampleKind, ...] = get_args(SampleKind)

LONGEST_VALUE = 500
"""The number of characters of a value that are shown. A longer value is truncated, and its length follows."""

Result = Literal["passed", "warned", "rejected", "filtered", "stops"]
"""The result of a row at the node. A row that `stops` ends a run."""


@dataclass(frozen=True, slots=True)
class NodePreviewJob:
    """One preview. `pipeline` has one target, which is after the node. If that target is a stand-in, `without_target`
    contains the reason. `seed` selects the random rows. `tenant` is the UUID of the workspace, `taps` the folder
    of the installed Singer taps."""

    id: str
    pipeline: Pipeline
    node: str
    sample: SampleKind
    connections: Mapping[str, Connection]
    files_folder: Path
    without_target: str = ""
    seed: int = 0
    stores: Mapping[str, StoreConnection] = field(default_factory=dict)
    modules: Mapping[str, ModuleCode] = field(default_factory=dict)
    tenant: str = ""
    taps: Path | None = None


@dataclass(frozen=True, slots=True)
class ColumnPreview:
    """A column before or after the node, and the counts of its values in the rows that were read."""

    name: str
    type: str
    values: int
    nulls: int
    distinct: int


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a row violates, and the effect on the row. Rules on types have IDs such as `type:amount`."""

    rule_id: str
    field: str | None
    message: str
    severity: str


@dataclass(frozen=True, slots=True)
class RowPreview:
    """A row that reaches the node. `element` is the position of the array element from which an exploded row was made.
    `before` and `after` contain the values in the order of the columns; a row that the node removes has no `after`.
    `unreadable` are the columns after the node whose value does not have their type. `raw` is the text of an unreadable
    record."""

    file: str
    record: int
    result: Result
    before: tuple[Any, ...] | None
    after: tuple[Any, ...] | None
    violations: tuple[Violation, ...] = ()
    unreadable: tuple[str, ...] = ()
    raw: str | None = None
    element: int | None = None


@dataclass(frozen=True, slots=True)
class RulePreview:
    """The number of violations of a rule of the node, and of the rows that it checked."""

    rule_id: str
    type: str
    field: str | None
    on_fail: str
    violations: int
    evaluated: int | None
    message: str = ""


CountUnit = Literal["record", "row"]


@dataclass(frozen=True, slots=True)
class NodePreview:
    """The rows of a node. The counts include all rows that were read; `rows` are some of them. On a path with explode
    they count records before it and rows behind it; a rejected record is one, among rows too (`unit_…`).

    `extent` describes the part that was read, `notes` the differences from a run on the whole source.
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
    unit_in: CountUnit = "row"
    unit_out: CountUnit = "row"
    unit_rejected: CountUnit = "row"
