"""Working on rejected rows: what was chosen, what a run does with it, and who decided what. Never a value of a row."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from flowapp.quarantine.job_rows import JobRows


class Selection(models.Model):
    """Rows that somebody chose, frozen: each by one of its entries and the revision in which it was seen.

    `parts` is a list of `{connection, table, ids, revisions}`. `wanted` says how they were chosen, and `is_whole` that
    nothing was left out for want of room.
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

    `row_from` says what the rows are: as the source gave them, or as they came to the node. A fix computes `expression`
    for `column`, and leaves what was typed by hand unless it `replaces_typed`. `by_words` is who requested the run,
    `selection` the choice that it was requested for, which may be gone. `rows` are `JobRows`, NULL once the run has
    ended long ago.
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
        """None of them once they are forgotten."""
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
            # Among all decisions, the scheduler looks again and again for purges that are to go on.
            models.Index(fields=["at", "id"], name="row_decision_purges", condition=models.Q(action="purge")),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.rows} rows"


class Retention(models.Model):
    """For how many days a workspace keeps rejected rows; without one they are kept until somebody throws them away."""

    workspace = models.OneToOneField("accounts.Workspace", models.CASCADE, related_name="+")
    days = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.days} days"
