"""Records the backups that runs take, and provides the input of a restore."""

from __future__ import annotations

from executors.api import LoadCommit
from executors.model import BackupRef
from flowapp.backups.models import Backup, Restore
from flowapp.clock import Now
from flowapp.pipelines.documents import read_document
from flowapp.runs.models import Run


def note_backup(run: Run, commit: LoadCommit) -> None:
    """Record the backup that a load has taken, if any."""
    taken = commit.record.backup
    if taken is None:
        return
    (target,) = (target for target in read_document(run.document).targets() if target.id == commit.node)
    Backup.objects.get_or_create(
        run=run,
        node=commit.node,
        defaults={
            "workspace_id": run.workspace_id,
            "pipeline_id": run.pipeline_id,
            "connection": target.connection,
            "schema": taken.schema,
            "table": taken.table,
            "rows": taken.rows,
            "taken_at": Now(),
        },
    )


def restored_by(run: Run) -> BackupRef | None:
    """Return the backup that a run restores."""
    restore = Restore.objects.select_related("backup").filter(run=run).first()
    return BackupRef(str(restore.backup.run_id), restore.backup.node) if restore else None
