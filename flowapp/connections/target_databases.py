"""The databases of targets, for what Flow does only in databases: read rows of tables, rejected rows and watermarks."""

from __future__ import annotations

from executors.model import Connection as Resolved
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import POSTGRES, resolve
from ir.connectors import TARGET_CONNECTORS
from ir.errors import FlowError
from ir.nodes import Target


def is_in_database(target: Target) -> bool:
    """Return whether a target loads a table of a database."""
    return POSTGRES in TARGET_CONNECTORS[target.connector].connection_kinds


def database_of(workspace: Workspace, target: Target, purpose: str) -> Resolved:
    """Return the database of a target with its password. `purpose` says in a message what it is for. Raises FlowError
    `target.not_available` for a target without a database, and the errors of `resolve`."""
    if not is_in_database(target):
        raise FlowError(
            "target.not_available",
            f"{purpose} not available for {TARGET_CONNECTORS[target.connector].tables} yet, such as {target.id}.",
            hint="Only targets in PostgreSQL have it.",
            node=target.id,
        )
    return resolve(get_connection(workspace, target.connection))
