"""Finds the key of a followed table."""

from __future__ import annotations

from executors.model import RunJob
from executors.postgres.client import connect, translate
from executors.postgres.read import as_source
from executors.postgres_cdc.tables import FollowedTable, find_table
from executors.sources.log_source import SourceKey
from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.nodes import Source


def find_key(job: RunJob, source: Source) -> SourceKey:
    """Return the columns and the key of the table that a source follows. Raises Terminal as `find_table`."""
    config, connection = config_of(source, PostgresCdcConfig), job.connections[source.connection or ""]
    name = f"flow run {job.run_id} follows"
    with as_source(source.id), connect(connection, autocommit=True, application_name=name) as conn, translate():
        table = find_table(conn, config.table)
    return key_of(table)


def key_of(table: FollowedTable) -> SourceKey:
    return SourceKey([column.name for column in table.relation_columns], table.key)
