"""The target node: the table that a pipeline loads, and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from ir.annotations import JsonScalar, OneOrMany
from ir.base import Id, NonNegativeNumber, Spec, Text
from ir.bounds import check_bounds
from ir.columns import Columns
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.durations import parse_duration
from ir.hooks import Hook
from ir.hooks.base import TargetHook, stage_at
from ir.limits import MAX_COLUMNS, MAX_KEY_COLUMNS
from ir.names import check_column, check_identifier, check_schema
from ir.nodes.base import InnerNode
from ir.nodes.hold import Hold, Percent
from ir.pointers import Pointer
from ir.types import TypeName, check_type

LoadModeName = Literal["append", "truncate", "upsert", "blue_green", "incremental_watermark", "cdc_mirror"]
OnTypeMismatch = Literal["abort", "skip", "null"]
WatermarkLag = Annotated[str | int | float, JsonScalar(("string", "number"))]

NEW_TABLE = "Columns of a new table"
LOCATION: JsonDict = {"group": "Location"}
LOAD: JsonDict = {"group": "Load settings"}
SAFEGUARDS: JsonDict = {"group": "Safeguards", "advanced": True}
HOOKS_GROUP: JsonDict = {"group": "Hooks", "advanced": True}


class TargetColumn(Spec):
    """A column of a table that Flow creates."""

    name: str = Field(title="Column name", description="The name of the column in the table.")
    type: TypeName = Field(
        description="The type of the column.", examples=["integer", "decimal(12,2)", "timestamp", "pg:inet"]
    )
    nullable: bool = Field(True, description="Whether the column may be NULL.")

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        yield from check_column(self.name, at / "name")
        yield from check_type(self.type, at / "type")


class ExpectedRowCountDelta(Spec):
    """Raises an alert if a load is much smaller or larger than earlier loads. The rows are loaded anyway."""

    window_runs: Annotated[int, Field(ge=3, le=1000)] = Field(
        7,
        title="Earlier loads to compare with",
        description="A load is compared with the mean of this many earlier loads. Alerts begin with the fourth load.",
    )
    max_decrease_pct: NonNegativeNumber | None = Field(
        None,
        title="Alert if rows fall by more than",
        description="Percent by which a load may be smaller than the mean of earlier loads.",
        json_schema_extra={"unit": "%"},
    )
    max_increase_pct: NonNegativeNumber | None = Field(
        None,
        title="Alert if rows rise by more than",
        description="Percent by which a load may be larger than the mean of earlier loads.",
        json_schema_extra={"unit": "%"},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.max_decrease_pct is None and self.max_increase_pct is None:
            yield from check_bounds(None, None, at, ("maxDecreasePct", "maxIncreasePct"))


def _check_duration(text: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        parse_duration(text)
    except ValueError as error:
        yield diagnose("duration.malformed", at, f"{error}.")


class Target(InnerNode):
    """Loads rows into a table."""

    model_config = ConfigDict(
        json_schema_extra={"groups": ["General", "Location", "Load settings", "Safeguards", "Hooks", NEW_TABLE]}
    )

    kind: Literal["target"]
    connector: str = Field(description="The kind of system to load into.", json_schema_extra=LOCATION)
    connection: Id = Field(
        description="The stored connection to the database, folder or bucket.", json_schema_extra=LOCATION
    )
    schema_: str = Field(
        alias="schema",
        title="Schema",
        description="The schema of the table. Of a Delta table, the folder above it.",
        examples=["public"],
        json_schema_extra=LOCATION | {"suggests": "schemas"},
    )
    table: str = Field(
        description="The table to load. Flow creates it if it does not exist.",
        examples=["orders"],
        json_schema_extra=LOCATION | {"suggests": "tables"},
    )
    columns: Annotated[list[TargetColumn], Field(max_length=MAX_COLUMNS)] | None = Field(
        None,
        description="The columns of a table that Flow creates. Without them, the columns of the rows that arrive.",
        json_schema_extra={"group": NEW_TABLE, "advanced": True},
    )
    load_mode: LoadModeName = Field(
        title="Load mode",
        description="How the rows get into the table.",
        json_schema_extra=LOAD,
    )
    upsert_key: Annotated[list[str], Field(max_length=MAX_KEY_COLUMNS)] | None = Field(
        None,
        title="Key columns",
        description="Columns that identify a row. An existing table needs a unique constraint on exactly these "
        "columns.",
        json_schema_extra=LOAD,
    )
    order_by: Text | None = Field(
        None,
        title="Order by",
        description="A column. Of several rows with the same key, the one with the highest value is loaded. A newer "
        "row in the table is not overwritten.",
        json_schema_extra=LOAD,
    )
    watermark_column: str | None = Field(
        None,
        title="Watermark column",
        description="A column whose values grow and are never NULL. Only rows above the highest loaded value are "
        "loaded. Values later than the database's clock do not raise that value.",
        json_schema_extra=LOAD,
    )
    watermark_lag: WatermarkLag | None = Field(
        None,
        title="Watermark lag",
        description="How far below the watermark late rows are still loaded: a duration such as 15m or 2d, or a "
        "number if the watermark is a number.",
        examples=["15m"],
        json_schema_extra=LOAD,
    )
    watermark_lead: Text | None = Field(
        None,
        title="Watermark lead",
        description="How far the watermark may be ahead of the database's clock: 2h for local times ahead of UTC, "
        "400d for planned dates. Without it, not at all.",
        examples=["2h"],
        json_schema_extra=LOAD,
    )
    cdc_source: Id | None = Field(
        None,
        title="Source of changes",
        description="The id of the source whose changes are applied. Its connector is postgres_cdc or mysql_cdc.",
        json_schema_extra=LOAD,
    )
    fail_on_empty_source: bool = Field(
        True,
        title="Fail if the source has no rows",
        description="A source without rows fails the run instead of emptying the table.",
        json_schema_extra=SAFEGUARDS,
    )
    fail_at_rejected_pct: Percent = Field(
        100,
        title="Fail if rejected rows reach",
        description="If at least this percentage of the rows is rejected, nothing is loaded. 0 means no limit.",
        json_schema_extra=SAFEGUARDS | {"unit": "%"},
    )
    on_type_mismatch: OnTypeMismatch = Field(
        "abort",
        title="On type mismatch",
        description="What happens to a value that does not fit the type of its column.",
        json_schema_extra=SAFEGUARDS | {"labels": {"abort": "fail the run", "skip": "reject row", "null": "load NULL"}},
    )
    empty_as_null: bool = Field(
        True,
        title="Load empty text as NULL",
        description="An empty text becomes NULL where the column may be NULL.",
        json_schema_extra=SAFEGUARDS,
    )
    backup_before_load: bool = Field(
        False,
        title="Back up before each load",
        description="Stores a copy of the table for 7 days. The Backups page restores it.",
        json_schema_extra=SAFEGUARDS,
    )
    hold: Hold | None = Field(
        None,
        title="Approval",
        description="A load that exceeds one of these limits waits, staged, until a person approves or discards it.",
        json_schema_extra=SAFEGUARDS,
    )
    expected_row_count_delta: ExpectedRowCountDelta | None = Field(
        None,
        title="Alert on unusual row counts",
        description="Raises an alert if a load is much smaller or larger than earlier loads. The rows are loaded "
        "anyway.",
        json_schema_extra=SAFEGUARDS,
    )
    pre_hook: Annotated[Hook | list[Hook], OneOrMany()] | None = Field(
        None,
        title="Before the load",
        description="Hooks that run before the load, in order. See docs/reference/hooks.md.",
        json_schema_extra=HOOKS_GROUP,
    )
    post_hook: Annotated[Hook | list[Hook], OneOrMany()] | None = Field(
        None,
        title="After the load",
        description="Hooks that run after the load, in order. See docs/reference/hooks.md.",
        json_schema_extra=HOOKS_GROUP,
    )

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

    def hooks(self) -> list[TargetHook]:
        """Yield all hooks in their order, with their stages."""
        return [target_hook for target_hook, _ in self._target_hooks(Pointer())]

    def _target_hooks(self, at: Pointer) -> Iterator[tuple[TargetHook, Pointer]]:
        for name, field in (("preHook", self.pre_hook), ("postHook", self.post_hook)):
            hooks = field if isinstance(field, list) else [field] if field is not None else []
            for i, hook in enumerate(hooks):
                pointer = at / name / i if isinstance(field, list) else at / name
                yield TargetHook(f"{self.id}.{name}.{i}", stage_at(hook, pointer), hook), pointer

    def _check_hooks(self, at: Pointer) -> Iterator[Diagnostic]:
        for target_hook, pointer in self._target_hooks(at):
            if target_hook.hook.when is not None and ("preHook" in pointer or self.load_mode != "blue_green"):
                message = "Only a post-hook of a blue_green target can run before a swap."
                yield diagnose("hook.when_unused", pointer / "when", message)

    def reads(self, at: Pointer, columns: Columns) -> Iterator[tuple[str, Pointer, Columns]]:
        for i, name in enumerate(self.upsert_key or ()):
            yield name, at / "upsertKey" / i, columns
        if self.order_by is not None:
            yield self.order_by, at / "orderBy", columns
        if self.watermark_column is not None:
            yield self.watermark_column, at / "watermarkColumn", columns
