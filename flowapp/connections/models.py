"""Stored connections. Their secrets stand here encrypted and are never shown again."""

from __future__ import annotations

import uuid

from django.db import models


class Connection(models.Model):
    """How a workspace reaches a system. `secret` is the encrypted password, '' if it needs none; of a webhook, all that
    may be secret. `settings` are what else a kind lets be shown.

    `last_test` is what `probes.Report.to_json` gave, with its time.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="connections")
    name = models.CharField(max_length=63)
    kind = models.CharField(max_length=40)
    host = models.CharField(max_length=255)
    port = models.PositiveIntegerField()
    database = models.CharField(max_length=63)
    user = models.CharField(max_length=63)
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
