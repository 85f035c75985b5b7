"""Load units: the files that a pipeline has seen, identified by their bytes."""

from __future__ import annotations

import uuid

from django.db import models


class UnitState(models.TextChoices):
    PENDING = "pending"
    PROCESSING = "processing"
    COMMITTED = "committed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNDONE = "undone"


DONE = (UnitState.COMMITTED, UnitState.UNDONE)
"""States of files that the next run does not load without a request."""


class FileHeader(models.Model):
    """The columns of files of a pipeline: `[name, type]` of each, in the order of the file. `total` is their number, of
    which a very wide file stores the first ones only. All files with the same columns share one row."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+")
    digest = models.CharField(max_length=64)
    columns = models.JSONField()
    total = models.PositiveIntegerField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "digest"], name="header_once"),)

    def __str__(self) -> str:
        return f"{self.total} columns"


class LoadUnit(models.Model):
    """A file by SHA-256: one row for its bytes, plus one for each other name under which the same bytes were skipped.

    While `processing`, its run's lease holds it. `undone` means that its rows were deleted on request. Commits whose
    fence token is not above `forgotten_token` do not count, because a user asked to load the file again.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="units")
    node = models.CharField(max_length=63)
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=1024)
    size = models.BigIntegerField()
    mtime_ns = models.BigIntegerField(null=True)
    # Identifies the bytes without reading them, if the store guarantees that.
    fingerprint = models.CharField(max_length=64, blank=True)
    # The number of records, once the file was read.
    rows = models.BigIntegerField(null=True)
    # The line of its first record, if every record is one line.
    first_line = models.PositiveSmallIntegerField(null=True)
    # Its columns, once the file was scanned.
    header = models.ForeignKey(FileHeader, models.SET_NULL, null=True, related_name="+", db_index=False)
    state = models.CharField(max_length=12, choices=UnitState.choices, default=UnitState.PENDING)
    reason = models.TextField(blank=True)
    attempt = models.PositiveIntegerField(default=0)
    run = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="units")
    forgotten_token = models.BigIntegerField(null=True)
    forgotten_at = models.DateTimeField(null=True)
    forgotten_reason = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["pipeline", "sha256"], name="unit_bytes", condition=~models.Q(state=UnitState.SKIPPED)
            ),
            models.UniqueConstraint(
                fields=["pipeline", "sha256", "name"], name="unit_name", condition=models.Q(state=UnitState.SKIPPED)
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "-changed_at", "id"], name="unit_newest"),
            models.Index(fields=["workspace", "name", "id"], name="unit_by_name"),
            models.Index(fields=["workspace", "size", "id"], name="unit_by_size"),
            models.Index(fields=["pipeline", "-changed_at", "id"], name="unit_of_pipeline"),
            models.Index(fields=["pipeline", "node", "-created_at"], name="unit_of_source"),
            models.Index(fields=["run", "state"], name="unit_of_run"),
            models.Index(
                fields=["pipeline", "fingerprint"], name="unit_fingerprint", condition=~models.Q(fingerprint="")
            ),
            models.Index(fields=["workspace", "sha256"], name="unit_by_bytes"),
        )

    def __str__(self) -> str:
        return self.name


class UnitRun(models.Model):
    """What one run did with a file that it tried to load. A run that does not try a file has no record of it."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    unit = models.ForeignKey(LoadUnit, models.CASCADE, related_name="tries", db_index=False)
    run = models.ForeignKey("runs.Run", models.CASCADE, related_name="tries")
    state = models.CharField(max_length=12, choices=UnitState.choices)
    reason = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["unit", "run"], name="unit_of_run_once"),)

    def __str__(self) -> str:
        return f"{self.unit_id} in {self.run_id}"
