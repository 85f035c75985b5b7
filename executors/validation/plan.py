"""The input and the result of `validate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

import pyarrow as pa

from executors.charsets import UTF8, Charset
from executors.model import RuleCount, RulePlan, StageColumn
from ir.types import value_of

FILE, RECORD, BAD, RAW = "_flow_file", "_flow_record", "_flow_bad", "_flow_raw"
"""Columns that every frame carries beside its own."""


@dataclass(frozen=True, slots=True)
class CastFlag:
    """A boolean frame column that is true where an op of `node` (or the source's declared type) failed to cast `field`
    to `type`. `written` says in which form, if a column has its own."""

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
class TieFlag:
    """A boolean frame column that is true where nothing tells which row of a key is the last by `field`. Such rows stop
    the run, whatever else is let through: to keep one of them would be chance."""

    column: str
    node: str
    field: str

    @property
    def kind(self) -> str:
        return "order"

    @property
    def message(self) -> str:
        return "is equal in another row of the same key with other values, so none of them is the last"


@dataclass(frozen=True, slots=True)
class FailedFlag:
    """A boolean frame column that is true for a row that an expression of `node` cannot take: `field` is the column
    that it makes, if it makes one. Such a row ends the run."""

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


OpFlag = CastFlag | TieFlag | FailedFlag
"""What an op has found out about each row."""


@dataclass(frozen=True, slots=True)
class ValidationPlan:
    """How to validate the batches of one pass.

    `files` maps a file's place in the source's order to (sha256, name). `row_columns` maps the names shown in a
    rejected row's JSON to frame columns: the fields as the source gave them (`row_from` source), else the columns that
    entered the node (`row_from` input). `working` maps working columns, which rules and stage columns name, to frame
    columns. `flags` and `rules` stand in the order of the path: a row that one node drops never reaches the next.
    `now` is the run's clock, `charset` that of the target's database.
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
    on_type_mismatch: Literal["abort", "skip", "null"] = "abort"
    on_bad_row: Literal["reject", "abort"] = "reject"
    row_from: Literal["source", "input"] = "source"
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    charset: Charset = UTF8


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One batch, validated.

    `good` has `_flow_file`, `_flow_record` and the stage columns in their travel types; `rejects` has REJECT_SCHEMA.
    `warned` counts rows that are staged in spite of a violation. `dropped_at` counts rejected rows by the node that
    dropped them. `rules` holds every explicit rule, zeros included, and the implicit ones that were violated.
    """

    good: pa.RecordBatch
    rejects: pa.RecordBatch
    arrived: int
    staged: int
    rejected: int
    warned: int
    rules: tuple[RuleCount, ...]
    dropped_at: Mapping[str, int] = field(default_factory=dict)
