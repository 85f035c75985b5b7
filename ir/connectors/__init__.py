"""Source connectors, one file each, and their table. `config_of` returns a source's settings in their own type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from jsonschema.protocols import Validator
from pydantic import ValidationError

from ir.config_schema import check_config
from ir.connectors import (
    azure_blob,
    bigquery,
    delta,
    duckdb,
    gcs,
    http_api,
    http_pull,
    local_fs,
    mysql,
    mysql_cdc,
    oracle,
    postgres,
    postgres_cdc,
    s3,
    sftp,
    singer,
    snowflake,
    sqlite,
    sqlserver,
)
from ir.connectors.base import Connector, SourceConfig, TargetConnector
from ir.diagnostics import Diagnostic, diagnose
from ir.json_schema import schema_of, validator_for
from ir.kinds import KindTable
from ir.nodes.source import Source
from ir.pointers import Pointer
from ir.salvage import SoundPart, sound_parts

Config = TypeVar("Config", bound=SourceConfig)

CONNECTOR_KINDS = (
    local_fs.CONNECTOR,
    s3.CONNECTOR,
    gcs.CONNECTOR,
    azure_blob.CONNECTOR,
    sftp.CONNECTOR,
    http_pull.CONNECTOR,
    http_api.CONNECTOR,
    singer.CONNECTOR,
    postgres.CONNECTOR,
    postgres_cdc.CONNECTOR,
    mysql.CONNECTOR,
    mysql_cdc.CONNECTOR,
    sqlite.CONNECTOR,
    duckdb.CONNECTOR,
    sqlserver.CONNECTOR,
    oracle.CONNECTOR,
    snowflake.CONNECTOR,
    bigquery.CONNECTOR,
)
CONNECTORS: KindTable[Connector] = KindTable("source connector", ((kind.name, kind) for kind in CONNECTOR_KINDS))

TARGET_CONNECTOR_KINDS = (postgres.TARGET, delta.TARGET)
TARGET_CONNECTORS: KindTable[TargetConnector] = KindTable(
    "target connector", ((kind.name, kind) for kind in TARGET_CONNECTOR_KINDS)
)


NODE_CONNECTORS: dict[object, KindTable[Connector] | KindTable[TargetConnector]] = {
    "source": CONNECTORS,
    "target": TARGET_CONNECTORS,
}
"""The connectors by kind of node."""


def connection_kinds() -> frozenset[str]:
    """Return the kinds of stored connections that sources and targets can name."""
    return source_kinds() | loadable_kinds()


def source_kinds() -> frozenset[str]:
    """Return the kinds of stored connections that sources can name."""
    return frozenset(connector.connection_kind for connector in CONNECTORS.values() if connector.connection_kind)


def loadable_kinds() -> frozenset[str]:
    """Return the kinds of stored connections that targets can name."""
    return frozenset(kind for connector in TARGET_CONNECTORS.values() for kind in connector.connection_kinds)


def connection_kinds_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kinds of stored connections that a node of a document can name; empty if it needs none. Raises
    KeyError if they are unknown, because the node may be invalid."""
    connector = NODE_CONNECTORS[str(node.get("kind"))][str(node.get("connector"))]
    if isinstance(connector, TargetConnector):
        return connector.connection_kinds
    return (connector.connection_kind,) if connector.connection_kind else ()


def config_schema(connector: str) -> dict[str, Any] | None:
    """Return the JSON Schema of a source connector's settings, None if it has none; raises KeyError."""
    config = CONNECTORS[connector].config
    return schema_of(config) if config is not None else None


@cache
def _validator(connector: str) -> Validator | None:
    schema = config_schema(connector)
    return validator_for(schema) if schema is not None else None


def check_settings(connector: str, config: Any, at: Pointer) -> tuple[list[SoundPart], list[Diagnostic]]:
    """Return the valid parts of a source's settings, and their errors; both are empty for a connector without settings.

    The type decides what is valid. The schema provides the messages, so that they are the same for connectors that have
    only a schema.
    """
    kind, validator = CONNECTORS[connector].config, _validator(connector)
    if kind is None or validator is None:
        return [], []
    parts = list(sound_parts(kind, config, at))
    try:
        kind.read(config)
    except ValidationError as error:
        faults = list(check_config(validator, config, at))
        return parts, faults or [diagnose("value.malformed", at, f"{error.errors()[0]['msg']}.")]
    return parts, []


def config_of(source: Source, kind: type[Config]) -> Config:
    """Return the settings of a parsed source in their own type. Raises TypeError for those of another connector, and
    KeyError for a connector that is unknown or cannot run."""
    declared = CONNECTORS[source.connector].config
    if declared is None:
        raise KeyError(f"the settings of {source.connector} have no type yet")
    config = declared.read(source.config)
    if not isinstance(config, kind):
        raise TypeError(f"the settings of {source.connector} are not {kind.__name__}")
    return config
