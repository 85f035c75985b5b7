"""Backfills, their chunks, and what people did with them."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from executors.model import Chunk as PlannedChunk
from flowapp.backfills.bounds import range_words
from flowapp.backfills.phases import Phase


class ChunkStatus(models.TextChoices):
    PENDING = "pending", "Pending"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    EMPTY = "empty", "Empty"
    FAILED = "failed", "Failed"
    SUPERSEDED = "superseded", "Superseded"

    @property
    def symbol(self) -> str:
        """The character that stands for the status on pages, so that none is shown by colour alone."""
        return _SYMBOLS[self.value]


_SYMBOLS = {
    "pending": "\u00b7",
    "running": "\u25b6",
    "done": "\u2713",
    "empty": "0",
    "failed": "!",
    "superseded": "\u21ba",
}
COMPLETE = (ChunkStatus.DONE, ChunkStatus.EMPTY)
"""The states of chunks that are loaded."""


class Backfill(models.Model):
    """One plan for the history of a pipeline's source. The newest backfill of a pipeline has the pipeline's phase.

    `run` is the counted run that does the work or did it last: it plans, then is parked while its children load chunks.
    `cursor` describes the column by which the history is cut, `cut` is where the chunks end, and `mark` the highest
    value at the time of the plan. A rewind has `lower` or `upper` and a `reason`. `allowance` is the number of chunks
    that may still be started until the next time of the schedule; null without such a limit. `finished_by` is the run
    that stores the mark in the target. `ended_at` is set once the history is loaded or another backfill has replaced
    this one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="backfills")
    number = models.PositiveIntegerField()
    phase = models.CharField(max_length=12, choices=[(phase.value, phase.value) for phase in Phase])
    paused = models.BooleanField(default=False)
    run = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="+")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    reason = models.TextField(blank=True)
    lower = models.TextField(null=True)  # noqa: DJ001 - an open end differs from the text ''
    upper = models.TextField(null=True)  # noqa: DJ001

    cursor_kind = models.CharField(max_length=30, blank=True)
    column = models.TextField(blank=True)
    type = models.TextField(blank=True)
    cut = models.TextField(null=True)  # noqa: DJ001
    mark = models.TextField(null=True)  # noqa: DJ001
    estimated_rows = models.BigIntegerField(null=True)
    parallelism = models.PositiveIntegerField(default=1)
    allowance = models.PositiveIntegerField(null=True)

    started_at = models.DateTimeField()
    planned_at = models.DateTimeField(null=True)
    dispatched_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    finished_by = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="+")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["pipeline", "number"], name="backfill_number"),
            models.UniqueConstraint(fields=["run"], name="backfill_of_run"),
            models.UniqueConstraint(fields=["pipeline"], name="one_open_backfill", condition=models.Q(ended_at=None)),
        )

    def __str__(self) -> str:
        return f"{self.pipeline_id} backfill {self.number}"

    @property
    def is_loaded(self) -> bool:
        """Whether its chunks are loaded. The plan of a range may have failed, after which the pipeline goes on."""
        return self.phase == Phase.STREAMING and self.planned_at is not None

    @property
    def is_rewind(self) -> bool:
        return self.lower is not None or self.upper is not None


class Chunk(models.Model):
    """A part of the history, loaded by a run of its own. `lower` and `upper` are texts of the cursor's type, half-open.

    `again` means that an earlier run has loaded it, whose rows the next one replaces.
    `slot` is unique among the running chunks of a pipeline, `global_slot` among all running chunks, so that the limits
    of parallel chunks hold for any number of schedulers. `run` is the newest run, `cursor_committed` the copy of what
    the target's commit marker proves, and `winning_attempt` the attempt that has committed.
    """

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+")
    backfill = models.ForeignKey(Backfill, models.CASCADE, related_name="chunks")
    ordinal = models.PositiveIntegerField()
    partition = models.JSONField(default=dict)
    lower = models.TextField(null=True)  # noqa: DJ001
    upper = models.TextField(null=True)  # noqa: DJ001
    is_null = models.BooleanField(default=False)
    predicate = models.TextField()
    status = models.CharField(max_length=10, choices=ChunkStatus.choices, default=ChunkStatus.PENDING)
    attempts = models.PositiveIntegerField(default=0)
    slot = models.PositiveIntegerField(null=True)
    global_slot = models.PositiveIntegerField(null=True)
    run = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="chunks")
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    cursor_committed = models.TextField(null=True)  # noqa: DJ001
    winning_attempt = models.CharField(max_length=220, blank=True)
    rows_read = models.BigIntegerField(null=True)
    rows = models.BigIntegerField(null=True)
    rows_rejected = models.BigIntegerField(null=True)
    # The number of its rows in the source when the backfill ended, if it was not `rows_read` any more.
    rows_now = models.BigIntegerField(null=True)
    bytes = models.BigIntegerField(null=True)
    error = models.TextField(blank=True)
    again = models.BooleanField(default=False)

    class Meta:
        db_table = "pipeline_chunks"
        constraints = (
            models.UniqueConstraint(fields=["backfill", "ordinal"], name="chunk_ordinal"),
            models.UniqueConstraint(fields=["pipeline", "slot"], name="chunk_slot"),
            models.UniqueConstraint(fields=["global_slot"], name="chunk_global_slot"),
            models.CheckConstraint(
                condition=models.Q(status="running", slot__isnull=False, global_slot__isnull=False)
                | (~models.Q(status="running") & models.Q(slot=None, global_slot=None)),
                name="chunk_slot_while_running",
            ),
        )
        indexes = (
            models.Index(fields=["backfill", "status", "ordinal"], name="chunk_by_status"),
            models.Index(fields=["backfill", "-completed_at"], name="chunk_newest"),
        )

    def __str__(self) -> str:
        return f"{self.backfill_id} chunk {self.ordinal}"

    @property
    def planned(self) -> PlannedChunk:
        """The chunk as the engine knows it."""
        return PlannedChunk(
            ordinal=self.ordinal,
            column=self.backfill.column,
            lower=self.lower,
            upper=self.upper,
            partition=self.partition,
            is_null=self.is_null,
        )

    @property
    def symbol(self) -> str:
        return ChunkStatus(self.status).symbol

    @property
    def words(self) -> str:
        """The rows of the chunk, for pages."""
        return range_words(self.lower, self.upper, self.is_null, self.partition)

    @property
    def key(self) -> str:
        """What identifies the chunk in the target, across its runs, also if backfills are numbered anew."""
        return f"{self.backfill_id}:{self.ordinal}"


class Action(models.TextChoices):
    START = "start", "Started"
    PAUSE = "pause", "Paused"
    RESUME = "resume", "Resumed"
    RETRY = "retry", "Retried failed chunks"
    REWIND = "rewind", "Loaded again"


class BackfillAction(models.Model):
    """An entry of the audit log: what a person or a program did with a backfill, and why."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+")
    backfill = models.ForeignKey(Backfill, models.CASCADE, related_name="actions")
    action = models.CharField(max_length=10, choices=Action.choices)
    at = models.DateTimeField()
    done_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    done_as = models.CharField(max_length=300, blank=True)
    reason = models.TextField(blank=True)
    details = models.TextField(blank=True)

    class Meta:
        indexes = (models.Index(fields=["pipeline", "-at", "id"], name="backfill_action_newest"),)

    def __str__(self) -> str:
        return f"{self.backfill_id} {self.action}"
