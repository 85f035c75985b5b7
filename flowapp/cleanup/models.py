"""What deleted pipelines have left."""

from __future__ import annotations

from django.db import models


class PendingCleanup(models.Model):
    """What a deleted pipeline still has behind a connection. While it `is_due`, samples, watermarks, `backups` (lists
    of run and node) and staging of its `runs` are to be cleared up; rejected rows stay in `quarantines` until they are
    past their time."""

    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    slug = models.CharField(max_length=63)
    connection = models.CharField(max_length=63)
    backups = models.JSONField(default=list)
    runs = models.JSONField(default=list)
    quarantines = models.JSONField(default=list)
    is_due = models.BooleanField(default=True)
    left_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.slug} behind {self.connection}"
