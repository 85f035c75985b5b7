"""Read the tables that a pipeline loads, for rules that depend on them."""

from __future__ import annotations

from executors.target_database import TableName, inspect_tables
from flowapp.accounts.models import Workspace
from flowapp.connections.services import resolve_connections
from flowapp.connections.target_databases import is_in_database
from ir.destinations import Destinations
from ir.pipeline import Pipeline


def find_destinations(workspace: Workspace, pipeline: Pipeline) -> Destinations:
    """Return all target tables of the pipeline that are in databases, with None for missing tables. Raises Failure if a
    database does not respond."""
    resolved = resolve_connections(workspace, pipeline)
    found = {}
    for target in filter(is_in_database, pipeline.targets()):
        table = TableName(target.schema_, target.table)
        for _, destination in inspect_tables(resolved[target.connection], [table], node=target.id):
            found[target.connection, target.schema_, target.table] = destination
    return found
