"""Notification channels and the result of each message."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from flowapp.alerts.models import Severity


class Channel(models.Model):
    """A destination of a workspace's alerts. `secret` is the encrypted address; `settings` are its public part. The
    channel sends alerts of at least `severity`; if `kinds` is not empty, only those kinds.

    Until `busy_until` a process sends through the channel, or the channel pauses after a failure.
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
    """The event that a message reports."""

    OPENED = "opened"
    RESOLVED = "resolved"
    TEST = "test"


class DeliveryState(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(models.Model):
    """A message to a channel. It is stored with the event and sent later; its text is built when it is sent.

    The receiver detects duplicates by `key`. A test message has no alert.
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
        """Return whether the delivery can be resent. Tests cannot; users send a new test instead."""
        return self.state == DeliveryState.FAILED and self.alert_id is not None


class SentAgain(models.Model):
    """Records that a user requested a failed message to be resent. It is deleted with the log."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="again")
    at = models.DateTimeField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_words = models.CharField(max_length=300)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.delivery_id} again by {self.by_words}"
