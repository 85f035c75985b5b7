"""Copies of watermarks. The originals are in the target databases, written in the transactions of the rows."""

from __future__ import annotations

from django.db import models


class WatermarkCopy(models.Model):
    """The last known value of a watermark, used while its database cannot be reached. `value` is "" if there was
    none."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="watermarks")
    node = models.CharField(max_length=63)
    schema = models.CharField(max_length=63)
    table = models.CharField(max_length=63)
    column = models.CharField(max_length=63, blank=True)
    type = models.CharField(max_length=63, blank=True)
    value = models.TextField(blank=True)
    seen_at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "node"], name="mark_of_node"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} {self.node}: {self.value}"
