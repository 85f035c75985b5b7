"""The input and the result of `validate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from executors.charsets import UTF8, Charset
from executors.model import RuleCount, RulePlan, StageColumn
from ir.types import value_of

FILE, RECORD, BAD, RAW = "_flow_file", "_flow_record", "_flow_bad", "_flow_raw"
"""Columns that every frame has in addition to its own."""

ELEMENT = "_flow_element"
"""The position in its array of the element from which an exploded row was made."""


@dataclass(frozen=True, slots=True)
class CastFlag:
    """A boolean frame column that is true where an op of `node` (or the type declared by the source) failed to cast
    `field` to `type`. `written` describes the form of the text, if the column has its own."""

    column: str
    node: str
    field: str
    type: str = ""
    written: str = ""

    @property
    def kind(self) -> str:
        return "type"

    @property
    def message(self) -> str:
        return f"is not {value_of(self.type)}" + (f" written {self.written}" if self.written else "")


@dataclass(frozen=True, slots=True)
class RejectFlag:
    """A boolean frame column that is true where an op of `node` rejects the row, whatever the target does with values
    of other types. `kind` begins the rule's id."""

    column: str
    node: str
    kind: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class TieFlag:
    """A boolean frame column that is true where `field` does not decide the order of rows of a key. Such rows end the
    run, whatever other rules allow: any order would be arbitrary."""

    column: str
    node: str
    field: str
    consequence: str

    @property
    def kind(self) -> str:
        return "order"

    @property
    def message(self) -> str:
        return f"is equal in another row of the same key with other values, so {self.consequence}"


@dataclass(frozen=True, slots=True)
class FailedFlag:
    """A boolean frame column that is true for a row for which an expression of `node` fails. `field` is the column that
    the expression computes, if any. Such a row ends the run."""

    column: str
    node: str
    field: str | None
    why: str

    @property
    def kind(self) -> str:
        return "expression"

    @property
    def message(self) -> str:
        return f"makes an expression fail: {self.why}"


@dataclass(frozen=True, slots=True)
class NoBranchFlag:
    """A boolean frame column that is true where no condition of the branch node `node` holds. Such rows are rejected,
    whatever else the target allows."""

    column: str
    node: str
    field: None = None

    @property
    def kind(self) -> str:
        return "branch"

    @property
    def message(self) -> str:
        return "satisfies none of the conditions"


@dataclass(frozen=True, slots=True)
class CustomFlag:
    """A boolean frame column that is true where the module of a custom op rejects the row, or fails for it. The text
    column `messages` contains the reasons. Such rows are rejected, whatever else the target allows."""

    column: str
    node: str
    messages: str
    module: str
    field: None = None

    @property
    def kind(self) -> str:
        return "custom"

    @property
    def message(self) -> str:
        return f"is rejected by the module {self.module}"


OpFlag = CastFlag | RejectFlag | TieFlag | FailedFlag | NoBranchFlag | CustomFlag
"""The results of an op for each row."""


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """Columns of rows that represent groups: the number of `rows` of the group (NULL for all other rows), the origin of
    its first `records` as JSON, and the `values` of the group by name."""

    rows: str
    records: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ValidationPlan:
    """How to validate the batches of one pass.

    `files` maps the index of a file in source order to (sha256, name). `row_columns` maps the names in a rejected row's
    JSON to frame columns: the fields as the source provided them (`row_from` source), else the columns that entered the
    node (`row_from` input). `working` maps working columns, which rules and stage columns name, to frame columns.
    `flags` and `rules` are in the order of the path: a row that one node drops never reaches the next. `groups` is set
    if rows may represent groups. `now` is the run's clock, `charset` that of the target's database. `exploded` is the
    column whose elements become rows, if any. `sources` maps the index of a file to its source node; `is_united` means
    that the target also gets the rows of other sources, which may have the same files.
    """

    run_id: str
    source: str
    target: str
    files: Mapping[int, tuple[str, str]]
    row_columns: Mapping[str, str]
    working: Mapping[str, str]
    stage_columns: tuple[StageColumn, ...]
    rules: tuple[RulePlan, ...] = ()
    flags: tuple[OpFlag, ...] = ()
    groups: GroupColumns | None = None
    on_type_mismatch: Literal["abort", "skip", "null"] = "abort"
    on_bad_row: Literal["reject", "abort"] = "reject"
    row_from: Literal["source", "input"] = "source"
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    charset: Charset = UTF8
    exploded: str = ""
    sources: Mapping[int, str] = field(default_factory=dict)
    is_united: bool = False


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A validated batch. A rejected record counts as one row, also if it was exploded.

    `good` has `_flow_file`, `_flow_record` and the stage columns in their wire types; `rejects` has REJECT_SCHEMA.
    `warned` counts rows that are staged despite a violation. `dropped_at` counts rejected rows by the node that dropped
    them. `rules` holds every explicit rule, also without violations, and the implicit rules that were violated. `alive`
    marks the rows that are staged.
    """

    good: pa.RecordBatch
    rejects: pa.RecordBatch
    arrived: int
    staged: int
    rejected: int
    warned: int
    rules: tuple[RuleCount, ...]
    alive: np.ndarray[Any, np.dtype[np.bool_]]
    dropped_at: Mapping[str, int] = field(default_factory=dict)
