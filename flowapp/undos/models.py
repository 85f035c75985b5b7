"""The files whose rows runs delete."""

from __future__ import annotations

from django.db import models


class FileUndo(models.Model):
    """The file that a run undoes, and the reason. `rows` maps the target nodes to the numbers of rows that were shown
    to the user, who confirmed them."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.OneToOneField("runs.Run", models.CASCADE, related_name="file_undo")
    unit = models.ForeignKey("runs.LoadUnit", models.CASCADE, related_name="undos")
    reason = models.TextField()
    rows = models.JSONField()

    def __str__(self) -> str:
        return f"{self.unit_id} by {self.run_id}"

    @property
    def total(self) -> int:
        return sum(self.rows.values())
