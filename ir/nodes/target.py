"""The target node: the table that a pipeline loads, and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from ir.annotations import JsonScalar, OneOrMany
from ir.base import Id, NonNegativeNumber, Spec, Text
from ir.bounds import check_bounds
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.durations import parse_duration
from ir.hooks import Hook
from ir.hooks.base import PlacedHook, stage_at
from ir.limits import MAX_COLUMNS, MAX_KEY_COLUMNS
from ir.names import check_column, check_identifier, check_schema
from ir.nodes.base import InnerNode
from ir.nodes.hold import Hold, Percent
from ir.pointers import Pointer
from ir.types import TypeName, check_type

LoadModeName = Literal["append", "truncate", "upsert", "blue_green", "incremental_watermark", "cdc_mirror"]
OnTypeMismatch = Literal["abort", "skip", "null"]
WatermarkLag = Annotated[str | int | float, JsonScalar(("string", "number"))]


class TargetColumn(Spec):
    """A column of a table that Flow creates."""

    name: str
    type: TypeName
    nullable: bool = True

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_column(self.name, at / "name")
        yield from check_type(self.type, at / "type")


class ExpectedRowCountDelta(Spec):
    """The band around the mean of the last runs outside which a load raises an alert."""

    window_runs: Annotated[int, Field(ge=3, le=1000)] = 7
    max_decrease_pct: NonNegativeNumber | None = None
    max_increase_pct: NonNegativeNumber | None = None

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.max_decrease_pct is None and self.max_increase_pct is None:
            yield from check_bounds(None, None, at, ("maxDecreasePct", "maxIncreasePct"))


def _check_duration(text: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        parse_duration(text)
    except ValueError as error:
        yield diagnose("duration.malformed", at, f"{error}.")


class Target(InnerNode):
    kind: Literal["target"]
    connector: str
    connection: Id
    schema_: Annotated[str, Field(alias="schema")]
    table: str
    columns: Annotated[list[TargetColumn], Field(max_length=MAX_COLUMNS)] | None = None
    load_mode: LoadModeName
    upsert_key: Annotated[list[str], Field(max_length=MAX_KEY_COLUMNS)] | None = None
    order_by: Text | None = None
    watermark_column: str | None = None
    watermark_lag: WatermarkLag | None = None
    watermark_lead: Text | None = None
    cdc_source: Id | None = None
    fail_on_empty_source: bool = True
    fail_at_rejected_pct: Percent = 100
    backup_before_load: bool = False
    expected_row_count_delta: ExpectedRowCountDelta | None = None
    hold: Hold | None = None
    on_type_mismatch: OnTypeMismatch = "abort"
    empty_as_null: bool = True
    pre_hook: Annotated[Hook | list[Hook], OneOrMany()] | None = None
    post_hook: Annotated[Hook | list[Hook], OneOrMany()] | None = None

    def kinds(self, at: Pointer) -> Iterator[tuple[str, str, Pointer]]:
        yield "target connector", self.connector, at / "connector"
        yield "load mode", self.load_mode, at / "loadMode"

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_schema(self.schema_, at / "schema")
        yield from check_identifier(self.table, at / "table", "table")
        yield from self._check_columns(at / "columns")
        for i, name in enumerate(self.upsert_key or ()):
            yield from check_identifier(name, at / "upsertKey" / i, "column")
        if self.watermark_column is not None:
            yield from check_identifier(self.watermark_column, at / "watermarkColumn", "column")
        yield from self._check_lag(at / "watermarkLag")
        if self.watermark_lead is not None:
            yield from _check_duration(self.watermark_lead, at / "watermarkLead")
        yield from self._check_hooks(at)

    def _check_columns(self, at: Pointer) -> Iterator[Diagnostic]:
        seen: set[str] = set()
        for i, column in enumerate(self.columns or ()):
            if column.name in seen:
                message = f"The column {shown(column.name)} is declared twice."
                yield diagnose("column.repeated", at / i / "name", message)
            seen.add(column.name)

    def _check_lag(self, at: Pointer) -> Iterator[Diagnostic]:
        if isinstance(self.watermark_lag, str):
            yield from _check_duration(self.watermark_lag, at)
        elif self.watermark_lag is not None and self.watermark_lag < 0:
            yield diagnose("value.out_of_range", at, f"{self.watermark_lag} must be at least 0.")

    def hooks(self) -> list[PlacedHook]:
        """All hooks in their order, with their stages."""
        return [placed for placed, _ in self._placed_hooks(Pointer())]

    def _placed_hooks(self, at: Pointer) -> Iterator[tuple[PlacedHook, Pointer]]:
        for name, field in (("preHook", self.pre_hook), ("postHook", self.post_hook)):
            hooks = field if isinstance(field, list) else [field] if field is not None else []
            for i, hook in enumerate(hooks):
                place = at / name / i if isinstance(field, list) else at / name
                yield PlacedHook(f"{self.id}.{name}.{i}", stage_at(hook, place), hook), place

    def _check_hooks(self, at: Pointer) -> Iterator[Diagnostic]:
        for placed, place in self._placed_hooks(at):
            if placed.hook.when is not None and ("preHook" in place or self.load_mode != "blue_green"):
                message = "Only a post-hook of a blue_green target runs before a swap."
                yield diagnose("hook.when_unused", place / "when", message)

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        for i, name in enumerate(self.upsert_key or ()):
            yield name, at / "upsertKey" / i, columns
        if self.order_by is not None:
            yield self.order_by, at / "orderBy", columns
        if self.watermark_column is not None:
            yield self.watermark_column, at / "watermarkColumn", columns
