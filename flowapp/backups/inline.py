"""Restore a backup in this process, without a worker."""

from __future__ import annotations

from flowapp.backups.models import Backup
from flowapp.backups.services import restore_backup
from flowapp.runs.dispatch import finish_abandoned, run_to_end
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.run_kinds import Engine


def restore_inline(backup: Backup, reason: str, *, engine: Engine | None = None) -> Run:
    """Restore a backup after the runs in progress. Raises the errors of `restore_backup`."""
    finish_abandoned(backup.pipeline, RunKind.RESTORE, engine)
    return run_to_end(restore_backup(backup, reason, Trigger.CLI, send=False), engine)
