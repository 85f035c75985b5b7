"""Pipelines and the immutable versions of their documents."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models


class Pipeline(models.Model):
    """A pipeline by its document's `id`. What it does is in its versions; what a person switched is here.

    `fence_counter` is the source of fence tokens and only ever rises. `run_counter` numbers its runs; raising it
    also puts those who queue runs at the same moment one behind the other, on every database alike. Commits whose
    fence token is not above `forgotten_token` do not count: a person asked to load everything again.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="pipelines")
    ident = models.CharField(max_length=63)
    name = models.TextField(blank=True)
    enabled = models.BooleanField(default=True)
    paused = models.BooleanField(default=False)
    latest_number = models.PositiveIntegerField(default=0)
    fence_counter = models.BigIntegerField(default=0)
    run_counter = models.BigIntegerField(default=0)
    forgotten_token = models.BigIntegerField(null=True)
    forgotten_reason = models.TextField(blank=True)
    # The schedule as compared between versions, and when it fires next and fired last.
    schedule = models.JSONField(null=True)
    next_fire_at = models.DateTimeField(null=True)
    fired_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "ident"], name="pipeline_ident"),)
        indexes = (
            models.Index(fields=["next_fire_at"], name="pipeline_due", condition=models.Q(next_fire_at__isnull=False)),
        )

    def __str__(self) -> str:
        return self.ident


class PipelineVersion(models.Model):
    """A saved state of a pipeline. `document` is the text as it was given, `sha256` that of its bytes."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    message = models.TextField(blank=True)
    document = models.TextField()
    sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "number"], name="version_number"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} v{self.number}"
