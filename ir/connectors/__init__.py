"""Connectors, one file each for those whose settings have a type. `typed_config` turns a source's settings into it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema.protocols import Validator

from ir.config_schema import check_config
from ir.connectors import local_fs
from ir.connectors.base import Connector
from ir.connectors.local_fs import LocalFsConfig
from ir.diagnostics import Diagnostic
from ir.json_schema import schema_of, validator_for
from ir.kinds import KindTable
from ir.nodes.source import Source
from ir.pointers import Pointer

CONNECTOR_KINDS = (
    local_fs.CONNECTOR,
    Connector("s3", "Objects in an S3 bucket."),
    Connector("gcs", "Objects in a Google Cloud Storage bucket."),
    Connector("azure_blob", "Blobs in an Azure container."),
    Connector("sftp", "Files on an SFTP server."),
    Connector("http_pull", "A file fetched over https."),
    Connector("postgres", "A table or query of a PostgreSQL database."),
)
CONNECTORS: KindTable[Connector] = KindTable("source connector", ((kind.name, kind) for kind in CONNECTOR_KINDS))

TARGET_CONNECTOR_KINDS = (Connector("postgres", "A table of a PostgreSQL database."),)
TARGET_CONNECTORS: KindTable[Connector] = KindTable(
    "target connector", ((kind.name, kind) for kind in TARGET_CONNECTOR_KINDS)
)


def config_schema(connector: str) -> dict[str, Any] | None:
    """The JSON Schema of a source connector's settings, None while it has none; raises KeyError."""
    config = CONNECTORS[connector].config
    return schema_of(config) if config is not None else None


@cache
def _validator(connector: str) -> Validator | None:
    schema = config_schema(connector)
    return validator_for(schema) if schema is not None else None


def check_source_config(source: Source, at: Pointer) -> Iterator[Diagnostic]:
    """What is wrong in a source's settings: first their structure, and if that is right, their meaning."""
    validator = _validator(source.connector)
    if validator is None:
        return
    faults = list(check_config(validator, source.config, at))
    yield from faults
    if not faults:
        for part, place in typed_config(source).parts(at):
            yield from part.check(place)


def typed_config(source: Source) -> LocalFsConfig:
    """The settings of a source that was parsed, in their own type."""
    config = CONNECTORS[source.connector].config
    if config is not LocalFsConfig:
        raise KeyError(f"the settings of {source.connector} have no type yet")
    return LocalFsConfig.read(source.config)
