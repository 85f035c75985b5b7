"""Finds the key of a followed table."""

from __future__ import annotations

from executors.model import RunJob
from executors.mysql.client import connect, database_of
from executors.mysql_cdc.tables import FollowedTable, find_table
from executors.sources.log_source import SourceKey
from ir.connectors import config_of
from ir.connectors.mysql_cdc import MysqlCdcConfig
from ir.nodes import Source

_SECONDS = 60


def find_key(job: RunJob, source: Source) -> SourceKey:
    """Return the columns and the key of the table that a source follows. Raises Terminal as `find_table`."""
    config, connection = config_of(source, MysqlCdcConfig), database_of(job.stores[source.connection or ""])
    with connect(connection, seconds=_SECONDS) as session:
        table = find_table(session, config.table.database or connection.database, config.table.name)
    return key_of(table)


def key_of(table: FollowedTable) -> SourceKey:
    return SourceKey([column.name for column in table.columns if not column.is_hidden], table.key)
