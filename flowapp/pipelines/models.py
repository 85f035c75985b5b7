"""Pipelines, the immutable versions of their documents, and the drafts that become versions."""

from __future__ import annotations

import hashlib
import uuid

from django.conf import settings
from django.db import models


class Pipeline(models.Model):
    """A pipeline, identified by its document's `id`. Versions define what it does; this row holds switches set by
    users.

    `fence_counter` is the source of fence tokens and only increases. `run_counter` numbers the runs that count,
    `trial_counter` previews, samples and other runs beside them; incrementing one also serializes concurrent requests
    for runs, on every database. Commits whose fence token is not above
    `forgotten_token` do not count, because a user asked to load everything again. `tags`, `source`, `target` and
    `load_mode` repeat values of the newest document, so that lists need not read documents.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="pipelines")
    slug = models.CharField(max_length=63)
    name = models.TextField(blank=True)
    # Each tag is on its own line, with a line break before the first and after the last.
    tags = models.TextField(blank=True)
    source = models.TextField(blank=True)
    target = models.TextField(blank=True)
    load_mode = models.TextField(blank=True)
    enabled = models.BooleanField(default=True)
    paused = models.BooleanField(default=False)
    # An archived pipeline is not listed, not scheduled and not run.
    archived_at = models.DateTimeField(null=True)
    latest_number = models.PositiveIntegerField(default=0)
    fence_counter = models.BigIntegerField(default=0)
    run_counter = models.BigIntegerField(default=0)
    trial_counter = models.BigIntegerField(default=0)
    forgotten_token = models.BigIntegerField(null=True)
    forgotten_reason = models.TextField(blank=True)
    # The schedule in a form that versions can compare, its next start and its last start.
    schedule = models.JSONField(null=True)
    next_fire_at = models.DateTimeField(null=True)
    fired_at = models.DateTimeField(null=True)
    # The backfill of the newest document.
    backfill = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["workspace", "slug"], name="pipeline_ident"),)
        indexes = (
            models.Index(fields=["next_fire_at"], name="pipeline_due", condition=models.Q(next_fire_at__isnull=False)),
        )

    def __str__(self) -> str:
        return self.slug

    @property
    def schedule_key(self) -> str:
        """The seed of the schedule's jitter: different for each pipeline, and constant."""
        return str(self.pk)

    @property
    def schedule_zone(self) -> str:
        """The time zone of the saved schedule. Intervals use UTC."""
        return str((self.schedule or {}).get("timezone", "UTC"))


class Favourite(models.Model):
    """A pipeline that a user wants listed first."""

    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="favourites")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")

    class Meta:
        constraints = (models.UniqueConstraint(fields=["user", "pipeline"], name="favourite_once"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} of {self.user_id}"


class PipelineVersion(models.Model):
    """A saved version of a pipeline. `document` is the text as submitted, `sha256` the hash of its canonical form (RFC
    8785). `quarantines` lists pairs of connection and table that store its rejected rows."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey(Pipeline, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    message = models.TextField(blank=True)
    document = models.TextField()
    sha256 = models.CharField(max_length=64)
    quarantines = models.JSONField(default=list)
    # The maximum number of attempts of its runs; null if the document does not set it.
    max_attempts = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "number"], name="version_number"),)

    def __str__(self) -> str:
        return f"{self.pipeline_id} v{self.number}"


class Draft(models.Model):
    """A user's unsaved work on a pipeline. Its text may be invalid.

    `position` is the number of the newest applied step, 0 before the first. Numbers are never reused, so a position
    identifies one text. `good_text` is the newest text that is valid JSON. `saved_position` is the position at which
    the text was last equal to version `base_number`. `page` identifies the browser page that made the newest change, ""
    for programs.
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
        """A hash that identifies the text. Positions cannot, because they restart when a draft is discarded."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]


class DraftStep(models.Model):
    """A change of a draft's text: at `offset` (in characters), `inserted` replaces `removed`.

    `previous` is the position before the step; no two stored steps have the same one.
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
