"""Restore backups and drop expired ones."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable

from django.db import transaction

from executors.model import BackupRef
from executors.target_database import drop_backups as drop_snapshots
from flowapp.accounts.models import User
from flowapp.backups.models import Backup, Restore
from flowapp.backups.selectors import RETENTION_DAYS, list_unexpired
from flowapp.clock import Now, from_now
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.services import queue_for
from ir.errors import FlowError
from ir.pipeline import Pipeline as Document

logger = logging.getLogger(__name__)
DAY = 24 * 3600.0


def restore_backup(
    backup: Backup, reason: str, trigger: Trigger, *, user: User | None = None, send: bool = True
) -> Run:
    """Request a run that restores a backup; it waits for the runs in progress. Raises FlowError."""
    if not reason.strip():
        raise FlowError("reason.required", "Restoring a backup needs a reason.", hint="Give a reason. It is stored.")
    if backup.dropped_at is not None:
        raise FlowError(
            "backup.gone",
            f"The backup of {backup} has expired: backups are stored for {RETENTION_DAYS} days.",
            hint="Load the table again from its source.",
        )
    with transaction.atomic():
        run = queue_for(RunKind.RESTORE, backup.pipeline, trigger, user=user, send=send)
        _require_target(backup, read_document(run.document))
        Restore.objects.create(workspace_id=backup.workspace_id, run=run, backup=backup, reason=reason.strip())
    return run


def _require_target(backup: Backup, document: Document) -> None:
    """Require that the node still loads the backed-up table. A backup is stored in the database of its table, so it
    cannot restore a table elsewhere."""
    target = next((target for target in document.targets() if target.id == backup.node), None)
    if target is not None and target.connection != backup.connection:
        raise FlowError(
            "backup.other_connection",
            f"The backup of {backup} lies behind connection {backup.connection}; target {backup.node} loads "
            f"{target.connection} now.",
            hint=f"Set the connection of the target back to {backup.connection}, then restore.",
        )


def drop_old_backups() -> int:
    """Drop expired backups in every reachable target; return their number. The scheduler retries the others."""
    return drop_backups(list_unexpired().filter(taken_at__lt=from_now(-RETENTION_DAYS * DAY)))


def drop_backups(backups: Iterable[Backup]) -> int:
    """Drop the given backups in every reachable target; return how many were dropped."""
    by_connection: dict[tuple[object, str], list[Backup]] = defaultdict(list)
    for backup in backups:
        by_connection[backup.workspace, backup.connection].append(backup)
    return sum(_drop(name, found) for (_, name), found in by_connection.items())


def _drop(connection: str, backups: list[Backup]) -> int:
    try:
        stored = get_connection(backups[0].workspace, connection)
        drop_snapshots(resolve(stored), [BackupRef(str(backup.run_id), backup.node) for backup in backups])
    except FlowError as error:
        logger.info("Backups at connection %s were not dropped: %s", connection, error.code)
        return 0
    return Backup.objects.filter(pk__in=[backup.pk for backup in backups]).update(dropped_at=Now())
