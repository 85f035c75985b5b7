"""All rows of a followed table, for the first load of its mirror."""

from __future__ import annotations

from executors.model import DestinationColumn
from executors.postgres_cdc.tables import FollowedTable
from executors.sources.base import SourceContext
from executors.sources.postgres import PostgresSource
from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.nodes import Source


class FollowedRows(PostgresSource):
    """The rows of the table, in an exported snapshot if one is named. Without a table, all columns are read."""

    def __init__(self, source: Source, context: SourceContext, table: FollowedTable | None, snapshot: str) -> None:
        config = config_of(source, PostgresCdcConfig)
        place = {"schema": config.table.schema_, "name": config.table.name}
        super().__init__(source.model_copy(update={"connector": "postgres", "config": {"table": place}}), context)
        self._followed, self.imports = table, snapshot

    def _inspect(self) -> tuple[DestinationColumn, ...]:
        columns = super()._inspect()
        if self._followed is None:
            return columns
        names = {column.name for column in self._followed.relation_columns}
        return tuple(column for column in columns if column.name in names)
