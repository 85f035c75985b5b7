"""Delete old data, and staging tables that dead attempts have left in targets."""

from __future__ import annotations

import logging
from uuid import UUID

from django.conf import settings

from executors.api import sweep_private_folders, sweep_spools
from executors.target_database import drop_dead_staging, drop_expired_rows
from flowapp.alerts.services import raise_alert
from flowapp.connections.models import Connection
from flowapp.connections.services import POSTGRES, resolve
from flowapp.runs.holds import is_pending
from flowapp.runs.models import ACTIVE, Run, State
from ir.errors import FlowError

logger = logging.getLogger(__name__)


def drop_old_row_samples() -> int:
    """Drop expired row samples and row results in every reachable target."""
    dropped = 0
    for connection in Connection.objects.filter(kind=POSTGRES).order_by("pk"):
        try:
            dropped += drop_expired_rows(resolve(connection))
        except FlowError as error:
            logger.info("Rows stored at connection %s were not dropped: %s", connection.name, error.code)
    return dropped


def sweep_staging() -> list[str]:
    """Drop staging tables of finished attempts in every target; return the tables' names."""
    swept: list[str] = []
    for connection in Connection.objects.filter(kind=POSTGRES).order_by("pk"):
        try:
            names = drop_dead_staging(resolve(connection), is_dead)
        except FlowError as error:
            logger.info("Connection %s was not cleaned up: %s", connection.name, error.code)
            continue
        if names:
            swept += names
            raise_alert(
                "staging.leftovers",
                "warning",
                f"{len(names)} staging tables of lost attempts were dropped from {connection.name!r}.",
                "No action is needed. If workers stop often, see their logs.",
                workspace=connection.workspace,
            )
    return swept


def sweep_fetched_rows() -> int:
    """Delete rows that runs have fetched and that nothing reads any more, and the settings of taps whose worker was
    killed; return the number of folders."""
    return len(sweep_spools(settings.FILES_ROOT, _is_active)) + sweep_private_folders(settings.TAPS)


def _is_active(run_id: str) -> bool:
    """Return whether a run is active. Previews have IDs that are not of runs, and end within minutes."""
    try:
        return Run.objects.filter(pk=UUID(run_id), state__in=ACTIVE).exists()
    except ValueError:
        return False


def is_dead(run_id: str, attempt: int) -> bool:
    """Return whether an attempt is over for certain. An unknown run may belong to another installation."""
    try:
        run = Run.objects.only("state", "attempt").get(pk=UUID(run_id))
    except (Run.DoesNotExist, ValueError):
        return False
    if run.state in ACTIVE and is_pending(run, attempt):
        return False
    return attempt < run.attempt or run.state != State.RUNNING
