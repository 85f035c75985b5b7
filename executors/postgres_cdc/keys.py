"""Gives a target that applies changes the key of its source."""

from __future__ import annotations

from executors.errors import of_node
from executors.model import RunJob
from executors.postgres.client import connect, translate
from executors.postgres.read import as_source
from executors.postgres_cdc.copies import copies_on
from executors.postgres_cdc.tables import find_table
from ir.connectors import config_of
from ir.connectors.postgres_cdc import PostgresCdcConfig
from ir.load_modes import load_mode
from ir.pipeline import Path


def with_source_key(job: RunJob, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the paths to a target with its key: that of the document, else the key of the followed table. Paths to
    other targets are unchanged. Raises Terminal as `find_table` and `Copies.require`."""
    target = paths[0].target
    if not load_mode(target.load_mode).follows_stream or target.upsert_key:
        return paths
    path = paths[0]
    config, connection = config_of(path.source, PostgresCdcConfig), job.connections[path.source.connection or ""]
    name = f"flow run {job.run_id} follows"
    with (
        of_node(path.source.id),
        as_source(path.source.id),
        connect(connection, autocommit=True, application_name=name) as conn,
        translate(),
    ):
        table = find_table(conn, config.table)
    columns = (column.name for column in table.relation_columns)
    key = copies_on(path, columns).require(table.key, path.source.id)
    keyed = target.model_copy(update={"upsert_key": list(key)})
    return (Path(path.source, path.transforms, path.validates, keyed, path.references),)
