"""Queries for backups."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from flowapp.accounts.models import Workspace
from flowapp.backups.models import Backup, Restore
from flowapp.pipelines.models import Pipeline
from flowapp.runs.models import Run
from ir.errors import FlowError

NEWEST_FIRST = ("-taken_at", "id")
RETENTION_DAYS = 7
"""The number of days for which a backup is stored."""


def list_backups(workspace: Workspace, *, pipeline: Pipeline | None = None, run: Run | None = None) -> QuerySet[Backup]:
    """List backups with their restores, newest first, expired ones included."""
    filters = {"pipeline": pipeline, "run": run}
    backups = Backup.objects.filter(workspace=workspace, **{name: v for name, v in filters.items() if v is not None})
    restores = Restore.objects.select_related("run").order_by("-pk")
    found = backups.select_related("pipeline", "run").prefetch_related(Prefetch("restores", restores))
    return found.order_by(*NEWEST_FIRST)


def list_unexpired() -> QuerySet[Backup]:
    """List the backups of all workspaces whose rows still exist in their targets."""
    return Backup.objects.filter(dropped_at=None).select_related("workspace")


def get_backup(workspace: Workspace, backup_id: UUID | str) -> Backup:
    """Return a backup of this workspace. Raises FlowError."""
    try:
        return list_backups(workspace).get(pk=UUID(str(backup_id)))
    except (Backup.DoesNotExist, ValueError):
        raise FlowError(
            "backup.unknown",
            f"There is no backup {str(backup_id)!r} here.",
            hint="The Backups page and `flow backups list` show all backups.",
        ) from None


def expires_at(backup: Backup) -> datetime:
    return backup.taken_at + timedelta(days=RETENTION_DAYS)
