"""Stored connections. Their secrets are encrypted and never shown again."""

from __future__ import annotations

import uuid

from django.db import models


class Connection(models.Model):
    """How a workspace reaches a system. `secret` is the encrypted password, or '' if there is none; of a webhook, all
    fields that may be secret. `settings` hold other values of a kind that may be shown.

    `last_test` is the result of `probes.Report.to_json` with its time.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="connections")
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=40)
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField()
    database = models.CharField(max_length=255)
    user = models.CharField(max_length=255)
    secret = models.TextField(blank=True)
    sslmode = models.CharField(max_length=20, default="prefer")
    settings = models.JSONField(default=dict)
    last_test = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "name"], name="connection_name"),)

    def __str__(self) -> str:
        return self.name
