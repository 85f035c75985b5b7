"""The table of source connectors, named by dotted path so that only the one in use is loaded."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from executors.errors import Terminal
from executors.sources.base import FileSource, SnapshotSource, SourceContext
from executors.sources.log_source import LogSource
from ir.kinds import KindTable
from ir.nodes import Source

SOURCES: KindTable[str] = KindTable(
    "source connector",
    (
        ("local_fs", "executors.sources.local_fs:LocalFs"),
        ("s3", "executors.sources.object_store:ObjectStore"),
        ("sftp", "executors.sources.sftp:SftpFiles"),
        ("gcs", "executors.sources.object_store:ObjectStore"),
        ("azure_blob", "executors.sources.object_store:ObjectStore"),
        ("http_pull", "executors.sources.http_pull:HttpPull"),
        ("http_api", "executors.sources.http_api:HttpApi"),
        ("postgres", "executors.sources.postgres:PostgresSource"),
        ("postgres_cdc", "executors.sources.postgres_cdc:PostgresCdc"),
        ("mysql_cdc", "executors.sources.mysql_cdc:MysqlCdc"),
        ("mysql", "executors.sources.mysql:MysqlSource"),
        ("singer", "executors.sources.singer:SingerSource"),
        ("sqlite", "executors.sources.database_file:DatabaseFile"),
        ("duckdb", "executors.sources.database_file:DatabaseFile"),
        ("sqlserver", "executors.sources.arrow_database:ArrowDatabase"),
        ("oracle", "executors.sources.arrow_database:ArrowDatabase"),
        ("snowflake", "executors.sources.arrow_database:ArrowDatabase"),
        ("bigquery", "executors.sources.arrow_database:ArrowDatabase"),
    ),
)


def load_file_source(source: Source, context: SourceContext) -> FileSource:
    """Return the file source of a node. Raises Terminal `kind.not_available`, and TypeError if the source reads
    rows."""
    handler = _load(source, context)
    if not isinstance(handler, FileSource):
        raise TypeError(f"{source.connector} reads no files")
    return handler


def load_snapshot_source(source: Source, context: SourceContext) -> SnapshotSource:
    """Return the row source of a node, not yet opened. Raises Terminal `kind.not_available`, and TypeError if the
    source reads files."""
    handler = _load(source, context)
    if not isinstance(handler, SnapshotSource):
        raise TypeError(f"{source.connector} reads no rows of a database")
    return handler


def log_source_of(source: Source) -> type[LogSource]:
    """Return the class of a source that follows a log. Raises TypeError for another source."""
    found = _find(source)
    if not (isinstance(found, type) and issubclass(found, LogSource)):
        raise TypeError(f"{source.connector} follows no log")
    return found


def _load(source: Source, context: SourceContext) -> object:
    return _find(source)(source, context)


def _find(source: Source) -> Callable[[Source, SourceContext], object]:
    if source.connector not in SOURCES:
        raise Terminal(
            "kind.not_available",
            f"The source connector {source.connector!r} cannot run yet; {', '.join(SOURCES)} can.",
            hint="Choose another connector.",
            node=source.id,
        )
    module, _, name = SOURCES[source.connector].partition(":")
    found: Callable[[Source, SourceContext], object] = getattr(import_module(module), name)
    return found
