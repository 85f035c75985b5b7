"""Alerts."""

from __future__ import annotations

import uuid
from typing import cast

from django.conf import settings
from django.db import models

from flowapp.alerts.kinds import EVENTS, Event, ended_by, title_of


class AlertState(models.TextChoices):
    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"


class Severity(models.TextChoices):
    WARNING = "warning"
    ERROR = "error"


class Alert(models.Model):
    """A problem that members of a workspace should know about. A repetition with the same fingerprint raises `count`.

    `run_id` and `run_number` identify the run that raised it last. An app above stores the runs.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="alerts")
    kind = models.CharField(max_length=60)
    severity = models.CharField(max_length=10, choices=Severity.choices)
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, null=True, related_name="alerts")
    run_id = models.UUIDField(null=True, db_index=True)
    run_number = models.BigIntegerField(null=True)
    node = models.CharField(max_length=63, blank=True)
    message = models.TextField()
    next_step = models.TextField()
    fingerprint = models.CharField(max_length=64)
    count = models.PositiveIntegerField(default=1)
    state = models.CharField(max_length=12, choices=AlertState.choices, default=AlertState.OPEN)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    acknowledged_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    acknowledged_at = models.DateTimeField(null=True)
    resolved_at = models.DateTimeField(null=True)
    resolved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    resolved_how = models.CharField(max_length=20, blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["fingerprint"], name="alert_unresolved", condition=~models.Q(state=AlertState.RESOLVED)
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "state", "-last_seen_at", "id"], name="alert_newest"),
            models.Index(fields=["resolved_at"], name="alert_resolved"),
        )

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    @property
    def title(self) -> str:
        return title_of(self.kind)

    @property
    def ended_by(self) -> str:
        """Return a description of what resolves the alert automatically."""
        return ended_by(self.kind)

    @property
    def how_resolved(self) -> str:
        """Return a description of what resolved the alert."""
        by = self.resolved_by.email if self.resolved_by else "a person"
        return by if self.resolved_how == "person" else EVENTS.get(cast(Event, self.resolved_how), "")
