"""Triggers, their recent calls, and the history of their changes."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class IfBusy(models.TextChoices):
    WAIT = "wait"
    REFUSE = "refuse"


class EventTrigger(models.Model):
    """A URL that queues a run of its pipeline when it is called with a valid signature. `secret` is encrypted."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="triggers")
    name = models.CharField(max_length=63)
    secret = models.TextField()
    if_busy = models.CharField(max_length=10, choices=IfBusy.choices, default=IfBusy.WAIT)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    rotated_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "name"], name="trigger_name"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} {self.name}"


class TriggerCall(models.Model):
    """A call that was answered with a run, so that a repeated call returns the same run. Old calls are deleted, because
    their timestamps are refused."""

    trigger = models.ForeignKey(EventTrigger, models.CASCADE, related_name="calls")
    key = models.CharField(max_length=64)
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="+")
    at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["trigger", "key"], name="trigger_call_once"),)

    def __str__(self) -> str:
        return f"{self.trigger_id} {self.key}"


class TriggerAction(models.TextChoices):
    ADDED = "added"
    ROTATED = "rotated"
    REMOVED = "removed"


class TriggerChange(models.Model):
    """Who added, rotated or removed a trigger. The record is not deleted with the trigger."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+")
    name = models.CharField(max_length=63)
    action = models.CharField(max_length=10, choices=TriggerAction.choices)
    by = models.CharField(max_length=300)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["pipeline", "-at"], name="trigger_changes"),)

    def __str__(self) -> str:
        return f"{self.name} {self.action}"
