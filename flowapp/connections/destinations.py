"""What stands in the databases that a pipeline loads, for rules that need to know it."""

from __future__ import annotations

from executors.postgres.client import connect, translate
from executors.postgres.load_modes.blue_green import look_closely
from flowapp.accounts.models import Workspace
from flowapp.connections.services import resolve_connections
from ir.destinations import Destinations
from ir.pipeline import Pipeline


def find_destinations(workspace: Workspace, pipeline: Pipeline) -> Destinations:
    """All target tables of the pipeline, None for those that do not exist; raises Failure if one cannot be asked."""
    resolved = resolve_connections(workspace, pipeline)
    found = {}
    for target in pipeline.targets():
        with connect(resolved[target.connection], autocommit=True) as reached, translate(target.id):
            key = (target.connection, target.schema_, target.table)
            found[key] = look_closely(reached, target.schema_, target.table)
    return found
