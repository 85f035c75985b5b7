"""The short form of a pipeline: a source, its tables and a destination. `expanding` builds documents from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Field

from ir.annotations import TextOrObject
from ir.base import Id, Object, Spec, Text
from ir.diagnostics import Diagnostic
from ir.limits import MAX_KEY_COLUMNS, MAX_NODES
from ir.manifests.diagnostics import fault
from ir.nodes.source import SourceColumn
from ir.nodes.target import LoadModeName
from ir.ops import AnyOp
from ir.pipeline import Metadata
from ir.pointers import Pointer
from ir.schedules import CATCH_UP, CatchUp, Jitter, Schedule

MAX_TABLES = MAX_NODES
ScheduleText = Annotated[Text | Schedule, TextOrObject()]


class ShortSource(Spec):
    """The source of the rows."""

    connector: str = Field(description="The kind of system to read from.", examples=["postgres"])
    connection: Id | None = Field(
        None, description="The stored connection to read through, if the connector needs one."
    )
    config: Object = Field(
        default={},
        title="Settings",
        description="The settings of the connector. With `tables`, their common settings: the schema of a "
        "database, or the parent folder of the tables' folders.",
    )
    columns: list[SourceColumn] | None = Field(
        None, description="Columns with their types, of every table that the entry reads."
    )


class ShortDestination(Spec):
    """The table that rows are loaded into."""

    connector: str | None = Field(None, description="The kind of database. Without it: postgres.")
    connection: Id | None = Field(None, description="The stored connection to the database.")
    schema_: str | None = Field(None, alias="schema", title="Schema", description="Without it: public.")
    table: str | None = Field(None, description="The table, if the entry has no `tables`.")
    load_mode: LoadModeName | None = Field(
        None,
        title="Load mode",
        description="Without it: incremental_watermark with `incremental`, else append for files and blue_green for "
        "tables.",
    )
    upsert_key: Annotated[list[str], Field(max_length=MAX_KEY_COLUMNS)] | None = Field(
        None, title="Key columns", description="Columns that identify a row, for the load mode upsert."
    )


class ShortPipeline(Spec):
    """Pipelines in short form: one for each table."""

    schema_uri: str | None = Field(
        None, alias="$schema", title="JSON Schema", description="The address of this schema, for editors."
    )
    id: Id = Field(
        title="ID",
        description="Names the pipeline. With `tables`, the id of each pipeline is this one, a hyphen and the table.",
        examples=["shop"],
    )
    metadata: Metadata | None = Field(None, title="About", description="Name, description, owner and tags.")
    source: ShortSource = Field(description="Where rows come from.")
    tables: Annotated[list[Text], Field(min_length=1, max_length=MAX_TABLES)] | None = Field(
        None,
        description="The tables to load, each with a separate pipeline.",
        examples=[["orders", "customers"]],
    )
    incremental: Text | None = Field(
        None,
        description="A column whose values grow. Only rows above the highest loaded value are loaded.",
        examples=["updated_at"],
    )
    schedule: ScheduleText | None = Field(
        None,
        description="When the pipelines run: `every 15m`, a cron expression, or a schedule as in a document.",
        examples=["every 15m", "0 6 * * 1-5"],
    )
    timezone: Text | None = Field(
        None, title="Time zone", description="The time zone of a cron expression.", examples=["Europe/Berlin"]
    )
    jitter: Jitter = None
    catch_up: Annotated[CatchUp | None, CATCH_UP] = None
    destination: ShortDestination = Field(
        default=ShortDestination(), description="The table to load. Missing settings are taken from [defaults]."
    )
    transforms: list[AnyOp] | None = Field(None, description="Operations on the rows, in order.")
    compiled: Text | None = Field(
        None,
        description="Instead of `transforms`: the file with operations that `flow compile` wrote.",
        examples=["shop.transforms.json"],
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.tables and self.destination.table is not None:
            yield fault("manifest.table_unused", at / "destination" / "table", "The entry has both table and tables.")


class Defaults(Spec):
    """Default settings of entries in the short form. Full documents do not use them."""

    destination: ShortDestination = Field(default=ShortDestination(), description="Where rows go.")
    schedule: ScheduleText | None = Field(None, description="When pipelines run.")
    timezone: Text | None = Field(None, title="Time zone", description="The time zone of cron expressions.")
    jitter: Jitter = None
    catch_up: Annotated[CatchUp | None, CATCH_UP] = None


def is_full(value: Any) -> bool:
    """Return whether a manifest is a full document."""
    return isinstance(value, dict) and ("nodes" in value or "kind" in value)
