"""Giving quarantine tables of older releases their indexes, beside everything else: it may take minutes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import groupby
from threading import Thread

from executors.errors import Failure
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.names import TableName
from executors.postgres.quarantine_indexes import complete_indexes
from flowapp.accounts.models import Workspace
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.quarantine.places import places_of
from ir.errors import FlowError

logger = logging.getLogger(__name__)


def index_old_tables() -> Thread:
    """Begin to complete the indexes of all quarantine tables; nobody waits for the thread, which ends with the process.
    What is not done by then is done by the next one."""
    tables: list[tuple[Connection, Sequence[TableName]]] = []
    for workspace in Workspace.objects.order_by("pk"):
        tables += _tables_of(workspace)
    thread = Thread(target=_complete, args=(tables,), name="quarantine indexes", daemon=True)
    thread.start()
    return thread


def _tables_of(workspace: Workspace) -> list[tuple[Connection, Sequence[TableName]]]:
    found: list[tuple[Connection, Sequence[TableName]]] = []
    places = sorted({(place.connection, place.table) for place in places_of(workspace, None, None)}, key=str)
    for name, here in groupby(places, key=lambda place: place[0]):
        try:
            found.append((resolve(get_connection(workspace, name)), [table for _, table in here]))
        except FlowError as error:
            logger.warning("Quarantine tables of connection %s were not looked at: %s", name, error)
    return found


def _complete(tables: Sequence[tuple[Connection, Sequence[TableName]]]) -> None:
    """Touches the warehouses alone. A database that does not answer, or an index that waited too long, keeps none of
    the others from being made."""
    for connection, here in tables:
        for table in here:
            try:
                with connect(connection, autocommit=True, application_name="flow indexes") as conn:
                    if made := complete_indexes(conn, table):
                        logger.info("%d indexes of %s were made.", made, table)
            except Failure as error:
                logger.warning("The indexes of %s are not complete yet: %s", table, error)
