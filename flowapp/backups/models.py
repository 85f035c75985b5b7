"""Metadata of backups in the control database. The rows of a backup are in the target's database."""

from __future__ import annotations

import uuid

from django.db import models


class Backup(models.Model):
    """The state of a target before a run loaded it. `dropped_at` is the time at which the expired backup was
    dropped."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="backups")
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="backups")
    node = models.CharField(max_length=63)
    connection = models.CharField(max_length=63)
    schema = models.CharField(max_length=63)
    table = models.CharField(max_length=63)
    rows = models.BigIntegerField()
    taken_at = models.DateTimeField()
    dropped_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "node"], name="backup_of_load"),)
        indexes = (
            models.Index(fields=["workspace", "-taken_at", "id"], name="backup_newest"),
            models.Index(fields=["taken_at"], name="backup_kept", condition=models.Q(dropped_at=None)),
        )

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


class Restore(models.Model):
    """The backup that a run restores, and the reason."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.OneToOneField("runs.Run", models.CASCADE, related_name="restore")
    backup = models.ForeignKey(Backup, models.CASCADE, related_name="restores")
    reason = models.TextField()

    def __str__(self) -> str:
        return f"{self.backup} by {self.run_id}"
