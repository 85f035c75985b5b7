"""The `postgres_cdc` connector: the changes of a table of a PostgreSQL database, read from its write-ahead log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from ir.base import Text
from ir.connectors.base import Connector, SourceConfig
from ir.connectors.postgres import SourceTable
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.names import check_identifier
from ir.pointers import Pointer

_SLOT = re.compile(r"[a-z0-9_]{1,63}")


class PostgresCdcConfig(SourceConfig):
    """A table and the changes of its rows, in the order of their commits."""

    model_config = ConfigDict(title="Changes")

    table: SourceTable = Field(title="Table", description="The table to follow.")
    snapshot: Literal["initial", "never"] = Field(
        "initial",
        title="First load",
        description="initial loads all rows of the table first; never loads only changes from then on.",
        json_schema_extra={"labels": {"initial": "all rows, then changes", "never": "changes only"}},
    )
    slot: Annotated[Text, Field(max_length=63)] | None = Field(
        None,
        title="Replication slot",
        description="The name of the replication slot. Without it, Flow creates one for this source.",
        json_schema_extra={"advanced": True},
    )
    publication: Text | None = Field(
        None,
        title="Publication",
        description="The name of an existing publication that contains the table. Without it, Flow creates one for "
        "this source.",
        json_schema_extra={"advanced": True},
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.slot is not None and not _SLOT.fullmatch(self.slot):
            message = f"{shown(self.slot)} is no name of a replication slot."
            yield diagnose("cdc.slot_name", at / "slot", message)
        if self.publication is not None:
            yield from check_identifier(self.publication, at / "publication", "publication")

    @property
    def location(self) -> str:
        return f"changes of {self.table.schema_}.{self.table.name}"


CONNECTOR = Connector(
    "postgres_cdc",
    "Changes of a PostgreSQL table",
    "Follows a table, change by change.",
    PostgresCdcConfig,
    reads="snapshot",
    connection_kind="postgres",
    follows_changes=True,
    has_slot=True,
    keeps_order=False,
    keeps_empty=True,
    starts_with={"table": {"schema": "public", "name": ""}},
)
