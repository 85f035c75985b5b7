"""Pending cleanup of deleted pipelines."""

from __future__ import annotations

from django.db import models


class PendingCleanup(models.Model):
    """Data of a deleted pipeline that still exists behind one connection. While it `is_due`, samples, watermarks,
    `backups` (lists of run and node) and the staging tables of its `runs` must be deleted. Rejected rows in
    `quarantines` stay until their retention ends."""

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
