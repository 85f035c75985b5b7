"""The `singer` connector: the rows of one stream of a Singer tap that is installed with Flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from ir.base import Id, Object, Spec
from ir.connectors.base import Connector, SourceConfig
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer
from ir.secret_names import secrets_in

Name = Annotated[str, Field(min_length=1, max_length=255)]


class SingerReplication(Spec):
    """How the tap finds the rows of a stream. Many taps decide this themselves."""

    model_config = ConfigDict(title="Replication of a stream")

    method: Literal["full_table", "incremental", "log_based"] = Field(
        title="Method",
        description="All rows, those with a new value of the key, or the changes in the log of a database.",
        json_schema_extra={
            "labels": {
                "full_table": "All rows",
                "incremental": "New and changed rows, by a key",
                "log_based": "Changes in the log of the database",
            }
        },
    )
    key: Name | None = Field(
        None,
        title="Key",
        description="The field whose highest value the tap remembers, for incremental.",
        examples=["updated_at"],
    )


class SingerConfig(SourceConfig):
    """The rows of one stream of a tap."""

    model_config = ConfigDict(title="Rows of a Singer tap")

    tap: Id = Field(title="Tap", description="The name of an installed tap.", examples=["shop"])
    stream: Name = Field(
        title="Stream",
        description="The name of the stream to read. The command flow tap streams lists those of a tap.",
        examples=["orders"],
    )
    settings: Object | None = Field(
        None,
        title="Settings",
        description="A JSON object with settings of the tap that are no secrets. Secrets belong in a connection.",
        examples=['{"start_date": "2026-01-01T00:00:00Z"}'],
    )
    fields: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = Field(
        None, title="Fields", description="The fields of the stream that the tap reads. All without it."
    )
    replication: SingerReplication | None = Field(
        None, title="Replication", description="How the tap finds the rows. Without it, the tap decides."
    )
    keep_state: bool = Field(
        True,
        title="Continue where the last load ended",
        description="Give the tap the state of the last load. Otherwise it reads everything in each run.",
    )
    use_catalog: bool = Field(
        True,
        title="Select the stream by a catalog",
        description="Off for a tap that cannot discover its streams, and sends those of its settings.",
        json_schema_extra={"advanced": True},
    )

    @property
    def location(self) -> str:
        return f"{self.tap}: {self.stream}"

    @property
    def repeats_rows(self) -> bool:
        return self.keep_state

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        for name, value in (("fields", self.fields), ("replication", self.replication)):
            if value is not None and not self.use_catalog:
                yield diagnose("singer.needs_catalog", at / name, f"Without a catalog, {name} has no effect.")
        for name, place in secrets_in(self.settings or {}, at / "settings"):
            message = f"The setting {shown(name)} seems to be a secret, which a document must not contain."
            yield diagnose("singer.secret_in_settings", place, message)


def _table_settings(shared: Mapping[str, Any], table: str) -> dict[str, Any]:
    """Return the settings for a stream of the common tap."""
    return {**shared, "stream": table}


CONNECTOR = Connector(
    "singer",
    "Singer tap",
    "Records of an application, such as a shop or a CRM.",
    SingerConfig,
    reads="snapshot",
    connection_kind="singer",
    connection_for="the settings of the tap that are secrets, such as a token",
    lists_streams=True,
    reading_step="Run the tap",
    starts_with={"tap": "", "stream": ""},
    table_settings=_table_settings,
)
