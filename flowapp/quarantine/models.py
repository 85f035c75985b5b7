"""Work on rejected rows: selections, the jobs of runs, and decisions. No row values are stored here."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from flowapp.quarantine.job_rows import JobRows


class Selection(models.Model):
    """A fixed selection of rows: each row is identified by one of its entries and that entry's revision.

    `parts` is a list of `{connection, table, ids, revisions}`. `wanted` is the filter; `is_whole` means that the size
    limit excluded no row.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(db_index=True)
    filters = models.JSONField(default=dict)
    parts = models.JSONField(default=list)
    rows = models.PositiveIntegerField()
    is_whole = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.rows} rows of {self.pipeline_id}"


class RowJob(models.Model):
    """What a run does with rejected rows of one target node.

    `row_from` is the form of the rows: as the source provided them, or as they reached the node. A fix computes
    `expression` for `column` and keeps manually entered values unless it `replaces_typed`. `by_words` names who
    requested the run; `selection` is the selection, which may be deleted. `rows` are `JobRows`, NULL some time after
    the run has ended.
    """

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.OneToOneField("runs.Run", models.CASCADE, related_name="row_job")
    node = models.CharField(max_length=63)
    row_from = models.CharField(max_length=10)
    column = models.TextField(blank=True)
    expression = models.TextField(blank=True)
    replaces_typed = models.BooleanField(default=False)
    by_words = models.CharField(max_length=300, blank=True)
    reason = models.TextField(blank=True)
    selection = models.UUIDField(null=True)
    rows = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}"

    @property
    def job_rows(self) -> JobRows:
        """The rows, or an empty list once they are forgotten."""
        return JobRows() if self.rows is None else JobRows.from_json(self.rows)


class RowDecision(models.Model):
    """Who did what to how many rejected rows, and why. `details` holds names and counts, never values."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.SET_NULL, null=True, related_name="+")
    run = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="+")
    action = models.CharField(max_length=20)
    at = models.DateTimeField(db_index=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_words = models.CharField(max_length=300)
    reason = models.TextField(blank=True)
    rows = models.BigIntegerField()
    excluded = models.BigIntegerField(default=0)
    details = models.JSONField(default=dict)

    class Meta:
        indexes = (
            models.Index(fields=["workspace", "-at", "id"], name="row_decision_newest"),
            # The scheduler repeatedly looks for unfinished purges among all decisions.
            models.Index(fields=["at", "id"], name="row_decision_purges", condition=models.Q(action="purge")),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.rows} rows"


class Retention(models.Model):
    """The number of days for which a workspace keeps rejected rows. Without a row here they are kept until a user
    deletes them."""

    workspace = models.OneToOneField("accounts.Workspace", models.CASCADE, related_name="+")
    days = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.days} days"
