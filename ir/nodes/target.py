"""The target node: the table that a pipeline loads, and how."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ir.base import Id, Spec
from ir.hooks import Hook
from ir.nodes.base import InnerNode
from ir.types import TypeName

LoadMode = Literal["append", "truncate", "upsert", "blue_green", "incremental_watermark", "cdc_mirror"]
OnTypeMismatch = Literal["abort", "skip", "null"]


class TargetColumn(Spec):
    """A column of a table that Flow creates."""

    name: str
    type: TypeName
    nullable: bool = True


class ExpectedRowCountDelta(Spec):
    """The band around the mean of the last runs outside which a load raises an alert."""

    window_runs: Annotated[int, Field(ge=3, le=1000)] = 7
    max_decrease_pct: Annotated[int | float, Field(ge=0)] | None = None
    max_increase_pct: Annotated[int | float, Field(ge=0)] | None = None


class Target(InnerNode):
    kind: Literal["target"]
    connector: str
    connection: Id
    schema_: Annotated[str, Field(alias="schema")]
    table: str
    columns: list[TargetColumn] | None = None
    load_mode: LoadMode
    upsert_key: list[str] | None = None
    order_by: str | None = None
    watermark_column: str | None = None
    watermark_lag: str | int | float | None = None
    cdc_source: Id | None = None
    fail_on_empty_source: bool = True
    backup_before_load: bool = False
    expected_row_count_delta: ExpectedRowCountDelta | None = None
    on_type_mismatch: OnTypeMismatch = "abort"
    empty_as_null: bool = True
    pre_hook: Hook | list[Hook] | None = None
    post_hook: Hook | list[Hook] | None = None
