"""Notification channels, and the result of each message."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from flowapp.alerts.models import Severity


class Channel(models.Model):
    """Where a workspace is told of alerts. `secret` holds, encrypted, all that it takes to send; `settings` are what of
    it may be shown. It tells alerts from `severity` on, of `kinds` alone if there are any.

    While `busy_until` lies ahead a process sends by it, or it rests after a failure.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="channels")
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=20)
    settings = models.JSONField(default=dict)
    secret = models.TextField()
    severity = models.CharField(max_length=10, choices=Severity.choices, default=Severity.WARNING)
    kinds = models.JSONField(default=list)
    busy_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "name"], name="channel_name"),)

    def __str__(self) -> str:
        return self.name


class Event(models.TextChoices):
    """What a message tells."""

    OPENED = "opened"
    RESOLVED = "resolved"
    TEST = "test"


class DeliveryState(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(models.Model):
    """A message to a channel: written with what it tells of, sent later. Its text is made when it is sent.

    `key` is what the receiver knows it by when it comes twice. A test is of no alert.
    """

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    alert = models.ForeignKey("alerts.Alert", models.CASCADE, null=True, related_name="deliveries")
    event = models.CharField(max_length=10, choices=Event.choices)
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    made_at = models.DateTimeField()
    due_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=60, blank=True)
    error_message = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["channel", "alert", "event"], name="told_once"),)
        indexes = (
            models.Index(fields=["due_at"], name="delivery_due", condition=models.Q(state="pending")),
            models.Index(fields=["channel", "-id"], name="delivery_newest"),
            models.Index(fields=["made_at"], name="delivery_age"),
        )

    def __str__(self) -> str:
        return f"{self.event} to {self.channel_id}"

    @property
    def can_go_again(self) -> bool:
        """A test is not resent: a new one tells more."""
        return self.state == DeliveryState.FAILED and self.alert_id is not None


class SentAgain(models.Model):
    """Somebody asked to send a message again that had been given up. It goes with the log."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="again")
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_words = models.CharField(max_length=300)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.delivery_id} again by {self.by_words}"
