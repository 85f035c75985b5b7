"""Pipelines, the immutable versions of their documents, and the drafts that become versions."""

from __future__ import annotations

import hashlib
import uuid

from django.conf import settings
from django.db import models


class Pipeline(models.Model):
    """A pipeline by its document's `id`. What it does is in its versions; what a person switched is here.

    `fence_counter` is the source of fence tokens and only ever rises. `run_counter` numbers its runs; raising it
    also puts those who queue runs at the same moment one behind the other, on every database alike. Commits whose
    fence token is not above `forgotten_token` do not count: a person asked to load everything again. What lists show
    of the newest document (`tags`, `source`, `target`, `load_mode`) is kept beside it, so that no list reads documents.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="pipelines")
    slug = models.CharField(max_length=63)
    name = models.TextField(blank=True)
    # Each tag on a line of its own, with a line break before the first and after the last.
    tags = models.TextField(blank=True)
    source = models.TextField(blank=True)
    target = models.TextField(blank=True)
    load_mode = models.TextField(blank=True)
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
        constraints = (models.UniqueConstraint(fields=["workspace", "slug"], name="pipeline_ident"),)
        indexes = (
            models.Index(fields=["next_fire_at"], name="pipeline_due", condition=models.Q(next_fire_at__isnull=False)),
        )

    def __str__(self) -> str:
        return self.slug

    @property
    def schedule_zone(self) -> str:
        """The time zone of the saved schedule; intervals are counted in UTC."""
        return str((self.schedule or {}).get("timezone", "UTC"))


class PipelineVersion(models.Model):
    """A saved state of a pipeline. `document` is the text as it was given, `sha256` that of its canonical form (RFC
    8785). `quarantines` are the pairs of a connection and a table in which it keeps rejected rows."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    message = models.TextField(blank=True)
    document = models.TextField()
    sha256 = models.CharField(max_length=64)
    quarantines = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "number"], name="version_number"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} v{self.number}"


class Draft(models.Model):
    """One person's unsaved work on a pipeline. It may hold errors.

    `position` is the number of the newest step that is in the text, 0 before the first. Numbers are never given
    twice, so that a position stands for one text. `good_text` is the newest text that could be read as JSON.
    `saved_position` is where the text was when it was last taken from or made into version `base_number`. `page` is the
    loaded page of the browser that made the newest change, "" for programs.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="drafts")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    base_number = models.PositiveIntegerField()
    text = models.TextField()
    good_text = models.TextField()
    position = models.PositiveBigIntegerField(default=0)
    saved_position = models.PositiveBigIntegerField(default=0)
    next_number = models.PositiveBigIntegerField(default=1)
    page = models.CharField(max_length=32, blank=True, default="")
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "user"], name="draft_once"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} draft of {self.user_id}"

    @property
    def revision(self) -> str:
        """Names the text. Positions begin anew when a draft is discarded."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


class DraftStep(models.Model):
    """One change of a draft's text: at `offset`, counted in characters, `removed` gave way to `inserted`.

    `previous` is the position that it was made at, so that no two steps that are kept have the same one.
    """

    draft = models.ForeignKey(Draft, models.CASCADE, related_name="steps")
    number = models.PositiveBigIntegerField()
    previous = models.PositiveBigIntegerField()
    label = models.CharField(max_length=200)
    offset = models.PositiveIntegerField()
    removed = models.TextField(blank=True)
    inserted = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["draft", "number"], name="step_number"),)

    def __str__(self) -> str:
        return f"{self.draft_id} {self.number}: {self.label}"
