"""Changes of columns of sources, and what became of them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class ChangeState(models.TextChoices):
    PENDING = "pending", "Pending"
    ACCEPTED = "accepted", "Accepted"
    REJECTED = "rejected", "Rejected"
    REFUSED = "refused", "Not possible"
    APPLIED = "applied", "Applied"
    WITHDRAWN = "withdrawn", "Withdrawn"


OPEN = (ChangeState.PENDING, ChangeState.ACCEPTED, ChangeState.REJECTED, ChangeState.REFUSED)
"""The states of a change that no load has followed and that the source still has, as far as is known."""


class ColumnChange(models.Model):
    """A difference between the columns of a source and of a table. `change_id` identifies its content. `run_id` and
    `run_number` are the run that has seen it last or has followed it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="column_changes")
    node = models.CharField(max_length=63)
    sources = models.CharField(max_length=2000)
    connection = models.CharField(max_length=63)
    schema = models.CharField(max_length=63)
    table = models.CharField(max_length=63)
    change_id = models.CharField(max_length=32)
    kind = models.CharField(max_length=10)
    column = models.TextField()
    sentence = models.TextField()
    statement = models.TextField(blank=True)
    rewrites = models.BooleanField(default=False)
    table_bytes = models.BigIntegerField(default=0)
    why_not = models.TextField(blank=True)
    state = models.CharField(max_length=10, choices=ChangeState.choices)
    run = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="+")
    first_seen_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    decided_as = models.CharField(max_length=300, blank=True)
    decided_at = models.DateTimeField(null=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["pipeline", "node", "change_id"], name="open_column_change", condition=models.Q(state__in=OPEN)
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "-seen_at", "id"], name="column_change_newest"),
            models.Index(fields=["pipeline", "-seen_at", "id"], name="column_change_of_pipeline"),
        )

    def __str__(self) -> str:
        return self.sentence

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    @property
    def can_be_accepted(self) -> bool:
        return self.state in (ChangeState.PENDING, ChangeState.REJECTED)

    @property
    def can_be_rejected(self) -> bool:
        return self.state in (ChangeState.PENDING, ChangeState.ACCEPTED)
