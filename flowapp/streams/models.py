"""The stream of each pipeline that follows one, the history of its switches, and its counts by the hour."""

from __future__ import annotations

import uuid

from django.db import models


class StreamState(models.TextChoices):
    """What a stream should do. A running stream is started again whenever no run of it is active. A manual one has not
    been started: only `flow run` has loaded its changes."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    MANUAL = "manual"


class Stream(models.Model):
    """The stream of a pipeline.

    `reason` and `code` explain a pause or a stop. `current_to` is the time up to which the target has every change;
    null before the first load. `counted` is the state of the source after the newest counted window, as in the commit
    marker. `window` describes the newest window with rows. `failing_*` describe windows that are being tried again;
    they are empty after a good one. `slot` is the newest observation of the replication slot, or of the file of a log
    that no slot retains (`is_file`), at `slot_seen_at`.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.OneToOneField("pipelines.Pipeline", models.CASCADE, related_name="stream")
    state = models.CharField(max_length=10, choices=StreamState.choices, default=StreamState.RUNNING)
    reason = models.TextField(blank=True)
    code = models.CharField(max_length=100, blank=True)
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=300, blank=True)
    current_to = models.DateTimeField(null=True)
    looked_at = models.DateTimeField(null=True)
    counted = models.TextField(blank=True)
    window = models.JSONField(default=dict)
    failing_since = models.DateTimeField(null=True)
    failing_code = models.CharField(max_length=100, blank=True)
    failing_message = models.TextField(blank=True)
    slot = models.JSONField(default=dict)
    slot_seen_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=["state"], name="stream_state"),)

    def __str__(self) -> str:
        return f"stream of {self.pipeline_id}"

    @property
    def has_slot(self) -> bool:
        """Whether a slot of the source retains log, as it was last observed."""
        return self.slot.get("status") not in (None, "missing") and not self.slot.get("is_file")


class StreamHour(models.Model):
    """The counts of all windows that committed in one hour (UTC). `worst_lag` is the longest time, in seconds, that the
    target was behind its source just before a window committed."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    stream = models.ForeignKey(Stream, models.CASCADE, related_name="hours")
    hour = models.DateTimeField()
    windows = models.BigIntegerField(default=0)
    rows = models.BigIntegerField(default=0)
    inserted = models.BigIntegerField(default=0)
    updated = models.BigIntegerField(default=0)
    deleted = models.BigIntegerField(default=0)
    rejected = models.BigIntegerField(default=0)
    worst_lag = models.FloatField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["stream", "hour"], name="hour_of_stream"),)
        indexes = (models.Index(fields=["hour"], name="stream_hour"),)

    def __str__(self) -> str:
        return f"{self.stream_id} {self.hour}"


class StreamAction(models.TextChoices):
    STARTED = "started"
    PAUSED = "paused"
    RESUMED = "resumed"
    STOPPED = "stopped"
    RESNAPSHOT = "resnapshot", "new snapshot"
    SLOT_DROPPED = "slot dropped"


class StreamChange(models.Model):
    """Who changed a stream, when, how and why."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    stream = models.ForeignKey(Stream, models.CASCADE, related_name="changes")
    action = models.CharField(max_length=20, choices=StreamAction.choices)
    by = models.CharField(max_length=300, blank=True)
    reason = models.TextField(blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["stream", "-at"], name="stream_changes"),)

    def __str__(self) -> str:
        return f"{self.stream_id} {self.action}"
