"""Runs, the counts of their nodes, and the commits known to the control plane."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce

from flowapp.runs.stored_report import StoredReport

if TYPE_CHECKING:
    from flowapp.runs.hold_record import HoldRecord


class State(models.TextChoices):
    QUEUED = "queued"
    WAITING = "waiting"
    RUNNING = "running"
    HELD = "held"
    APPROVED = "approved"
    SUCCEEDED = "succeeded"
    SUCCEEDED_WITH_WARNINGS = "succeeded_with_warnings"
    LOADED_HOOK_FAILED = "loaded_hook_failed"
    PARTIALLY_LOADED = "partially_loaded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DISCARDED = "discarded"


CLAIMABLE = (State.QUEUED, State.WAITING, State.APPROVED)
OCCUPYING = (State.RUNNING, State.HELD, State.APPROVED)
"""States in which a run blocks the other runs of its pipeline: its staged rows are older than what they would read, and
it holds its files."""
ACTIVE = (*CLAIMABLE, State.RUNNING, State.HELD)
ENDED = tuple(state for state in State if state not in ACTIVE)
RESTING = (*ENDED, State.HELD)
"""States that do not change, or not soon, without a user."""
UNSUCCESSFUL = (State.FAILED, State.PARTIALLY_LOADED)
"""States of runs that ended with an error. Some targets of a partially loaded run are loaded, others are not."""
LOADED = (State.SUCCEEDED, State.SUCCEEDED_WITH_WARNINGS, State.LOADED_HOOK_FAILED)


class Trigger(models.TextChoices):
    MANUAL = "manual", "browser"
    SCHEDULE = "schedule", "schedule"
    CLI = "cli", "command line"
    API = "api", "API"
    WEBHOOK = "webhook", "webhook"


class RunKind(models.TextChoices):
    """The purpose of a run. `flowapp.runs.run_kinds` defines what executes each kind."""

    LOAD = "load"
    PREVIEW = "preview"
    RESTORE = "restore"
    UNDO = "undo"
    REPLAY = "replay"
    RECHECK = "recheck"
    FIX = "fix"
    SAMPLE = "sample"
    BACKFILL = "backfill"
    CHUNK = "chunk", "Chunk run"
    FINISH_BACKFILL = "finish_backfill", "End of backfill"
    STREAM = "stream"


COUNTED = (RunKind.LOAD, RunKind.RESTORE, RunKind.UNDO, RunKind.REPLAY, RunKind.BACKFILL, RunKind.STREAM)
"""Kinds that count as runs of their pipeline: one at a time, numbered from 1, shown as its last run, and with alerts.
All other kinds share a separate series of numbers."""


LOADS = (RunKind.LOAD, RunKind.STREAM)
"""Kinds that load all new rows of the source."""
SOURCE_LOADS = (*LOADS, RunKind.CHUNK)
"""Kinds that load rows of the source, all new ones or a part of its history."""


TRIALS = tuple(kind for kind in RunKind if kind not in COUNTED)
"""Kinds that do not count, such as previews, samples and parts of a counted run."""


class CountedRuns(models.Manager["Run"]):
    def get_queryset(self) -> models.QuerySet[Run]:
        return super().get_queryset().filter(kind__in=COUNTED)


class Run(models.Model):
    """A request to run one version. Each claim by a worker is an attempt.

    Every write of a worker requires `attempt` and `lease_owner`; a worker that no longer holds both writes nothing.
    `failures` count against `max_attempts`; `losses` count vanished workers, `waits` count checks for missing files.
    `may_have_committed` is set before a load begins and cleared only after a query to the target. `idle_since` is when
    the last attempt left the run waiting for a decision, files or a retry; `idle_seconds` is the sum of the waits
    before the newest attempt. `ending` is the state that the run takes once an unreachable target has been queried.
    `finishing` means that all targets have committed and one more attempt finishes the rest. `failed_attempts` are
    `FailedAttempt`s, the attempts that were made again. `only_targets` are the targets that the run loads, all if
    empty; `retry_of` is the partially loaded run whose missing targets it loads.

    A running run without a lease is parked: it occupies its pipeline while other runs, its `children`, do its work.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="runs")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="runs")
    # A sample of a draft has no version; it stores the part of the draft that it reads.
    version = models.ForeignKey("pipelines.PipelineVersion", models.RESTRICT, related_name="runs", null=True)
    draft_document = models.TextField(blank=True, default="")
    number = models.BigIntegerField()
    kind = models.CharField(max_length=16, choices=RunKind.choices, default=RunKind.LOAD)
    state = models.CharField(max_length=32, choices=State.choices, default=State.QUEUED)
    trigger = models.CharField(max_length=16, choices=Trigger.choices)
    # The name of the webhook trigger that requested the run.
    trigger_name = models.CharField(max_length=63, blank=True, default="")
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")

    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    losses = models.PositiveIntegerField(default=0)
    waits = models.PositiveIntegerField(default=0)
    may_wait_for_files = models.BooleanField(default=True)
    max_attempts = models.PositiveIntegerField(default=1)
    token = models.BigIntegerField(default=0)
    lease_owner = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True)
    may_have_committed = models.BooleanField(default=False)
    finishing = models.BooleanField(default=False)
    outcome = models.CharField(max_length=32, choices=State.choices, blank=True)
    cancel_requested = models.BooleanField(default=False)
    failed_attempts = models.JSONField(default=list)
    only_targets = models.JSONField(default=list)
    retry_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="retries")
    parent = models.ForeignKey("self", models.CASCADE, null=True, related_name="children")

    # The time of the schedule that the run was queued for.
    scheduled_at = models.DateTimeField(null=True)
    queued_at = models.DateTimeField()
    due_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    idle_since = models.DateTimeField(null=True)
    idle_seconds = models.FloatField(default=0)
    ended_at = models.DateTimeField(null=True)

    step = models.CharField(max_length=40, blank=True)
    error_code = models.CharField(max_length=100, blank=True)
    error_node = models.CharField(max_length=63, blank=True)
    error_message = models.TextField(blank=True)
    error_hint = models.TextField(blank=True)
    # The database's own message, encrypted because it may contain row values.
    error_detail = models.TextField(blank=True)
    # From the newest attempt that has reported. Nodes and rules have their own rows.
    quarantine_rows = models.BigIntegerField(null=True)
    evaluated = models.BooleanField(default=False)  # Whether any row was validated.
    nothing_new = models.BooleanField(default=False)
    # What lists sort by, once the run has ended; null where there is no number.
    rows_loaded = models.BigIntegerField(null=True)
    rows_rejected = models.BigIntegerField(null=True)
    seconds = models.FloatField(null=True)
    report = models.JSONField(null=True)
    # The steps of the attempts with their times, a bounded number: see `timeline`.
    timeline = models.JSONField(default=list)

    objects = models.Manager["Run"]()
    counted = CountedRuns()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["pipeline", "number"], name="run_number", condition=models.Q(kind__in=COUNTED)
            ),
            models.UniqueConstraint(
                fields=["pipeline", "number"], name="trial_number", condition=~models.Q(kind__in=COUNTED)
            ),
            models.UniqueConstraint(fields=["pipeline", "scheduled_at"], name="scheduled_once"),
            models.UniqueConstraint(
                fields=["pipeline"],
                name="one_running_run",
                condition=models.Q(state__in=OCCUPYING, kind__in=COUNTED),
            ),
        )
        indexes = (
            models.Index(fields=["workspace", "-queued_at", "id"], name="run_newest"),
            models.Index(fields=["workspace", "state", "-queued_at", "id"], name="run_by_state"),
            models.Index(fields=["workspace", "trigger", "-queued_at", "id"], name="run_by_trigger"),
            models.Index("workspace", Coalesce("seconds", -1.0), "id", name="run_by_seconds"),
            models.Index("workspace", Coalesce("rows_loaded", -1), "id", name="run_by_loaded"),
            models.Index("workspace", Coalesce("rows_rejected", -1), "id", name="run_by_rejected"),
            # In these states, few runs have such a number, and a query would read the indexes above to their ends.
            models.Index("workspace", "state", Coalesce("seconds", -1.0), "id", name="run_by_state_seconds"),
            models.Index("workspace", "state", Coalesce("rows_loaded", -1), "id", name="run_by_state_loaded"),
            models.Index("workspace", "state", Coalesce("rows_rejected", -1), "id", name="run_by_state_rejected"),
            models.Index(fields=["pipeline", "-queued_at", "id"], name="run_of_pipeline"),
            models.Index(fields=["pipeline", "queued_at"], name="run_active", condition=models.Q(state__in=ACTIVE)),
            models.Index(fields=["due_at"], name="run_due", condition=models.Q(state__in=CLAIMABLE)),
            models.Index(fields=["lease_until"], name="run_leased", condition=models.Q(state=State.RUNNING)),
        )

    def __str__(self) -> str:
        return f"{self.pipeline_id} #{self.short_name}"

    @property
    def stored_report(self) -> StoredReport:
        """The report of the newest attempt, or an empty one."""
        return StoredReport() if self.report is None else StoredReport.from_json(self.report)

    @property
    def document(self) -> str:
        """The text of the document that the run executes."""
        if self.draft_document or self.version is None:
            return self.draft_document
        return self.version.document

    @property
    def version_number(self) -> int | None:
        """The version's number; None for a draft."""
        return self.version.number if self.version else None

    @property
    def counts(self) -> bool:
        """Whether the run counts as a run of its pipeline, with a number of that series."""
        return self.kind in COUNTED

    @property
    def is_parked(self) -> bool:
        """Whether the run occupies its pipeline while its children do its work."""
        return self.state == State.RUNNING and self.lease_until is None

    @property
    def short_name(self) -> str:
        """The name within the pipeline: `12`, or `preview-3` for a run that does not count."""
        return str(self.number) if self.counts else f"{self.kind}-{self.number}"

    @property
    def title(self) -> str:
        """The name on pages: `Run 12`, `Preview 3`."""
        return f"{'Run' if self.counts else RunKind(self.kind).label} {self.number}"

    @property
    def name(self) -> str:
        """The name on the command line: `orders/12`, `orders/preview-3`. Numbers are per pipeline."""
        return f"{self.pipeline.slug}/{self.short_name}"


class NodeRun(models.Model):
    """What one node did in the newest attempt. Columns from `rows_read` on are null if they do not apply to the node's
    kind."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="nodes")
    position = models.PositiveIntegerField()
    node = models.CharField(max_length=63)
    kind = models.CharField(max_length=20)
    rows_in = models.BigIntegerField(default=0)
    rows_out = models.BigIntegerField(default=0)
    rows_read = models.BigIntegerField(null=True)
    # Rows that were made of records, less these records.
    rows_exploded = models.BigIntegerField(null=True)
    rows_filtered = models.BigIntegerField(null=True)
    # Rows that were passed to other branches.
    rows_elsewhere = models.BigIntegerField(null=True)
    # Rows that an aggregate took into groups, less one for each group.
    rows_grouped = models.BigIntegerField(null=True)
    rows_rejected = models.BigIntegerField(null=True)
    # The rows that this node itself rejected; also set for the nodes before a target.
    rows_rejected_here = models.BigIntegerField(null=True)
    rows_staged = models.BigIntegerField(null=True)
    rows_replaced = models.BigIntegerField(null=True)
    rows_behind_mark = models.BigIntegerField(null=True)
    rows_suppressed = models.BigIntegerField(null=True)
    rows_loaded = models.BigIntegerField(null=True)
    rows_inserted = models.BigIntegerField(null=True)
    rows_updated = models.BigIntegerField(null=True)
    rows_unchanged = models.BigIntegerField(null=True)
    rows_deleted = models.BigIntegerField(null=True)
    rows_warned = models.BigIntegerField(null=True)
    duration_ms = models.BigIntegerField(default=0)
    # One entry per join of the node: counts, and the reference it read.
    joins = models.JSONField(default=list)
    # The number of rows of each branch of a branch node.
    branches = models.JSONField(default=list)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "node"], name="node_of_run"),)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}"

    @property
    def counts(self) -> dict[str, int | None]:
        """The columns that count rows, by name."""
        names = [column.attname for column in self._meta.concrete_fields if column.attname.startswith("rows_")]
        return {name: getattr(self, name) for name in names}


class RuleCount(models.Model):
    """How often one rule was violated in the newest attempt of a run, of the rows that it `evaluated`. Rules without
    violations are stored too. For implicit rules, `evaluated` is unknown."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="rules")
    position = models.PositiveIntegerField()
    node = models.CharField(max_length=63)
    rule = models.TextField()
    type = models.CharField(max_length=40)
    field = models.TextField(null=True)  # noqa: DJ001 - a rule without a field differs from a field named ''
    on_fail = models.CharField(max_length=10)
    violations = models.BigIntegerField()
    evaluated = models.BigIntegerField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "position"], name="rule_of_run"),)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}.{self.rule}"


class Decision(models.TextChoices):
    APPROVED = "approved"
    DISCARDED = "discarded"
    EXPIRED = "expired"


class HeldLoad(models.Model):
    """A load that exceeded the limits of its target, with the decision, its author and its reason.

    `record` is a `HoldRecord`. Decided holds are not deleted: they document the decision.
    """

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="holds")
    node = models.CharField(max_length=63)
    attempt = models.PositiveIntegerField()
    record = models.JSONField()
    held_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decision = models.CharField(max_length=12, choices=Decision.choices, blank=True)
    decided_at = models.DateTimeField(null=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    decided_as = models.CharField(max_length=300, blank=True)
    reason = models.TextField(blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["run", "attempt"], name="hold_of_attempt"),
            models.UniqueConstraint(fields=["run"], name="one_open_hold", condition=models.Q(decision="")),
        )
        indexes = (models.Index(fields=["expires_at"], name="hold_open", condition=models.Q(decision="")),)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}"

    @property
    def held(self) -> HoldRecord:
        """Why the load is held, what it would change, and what is staged."""
        from flowapp.runs.hold_record import HoldRecord  # its import loads pyarrow

        return HoldRecord.from_json(self.record)


class EffectSample(models.Model):
    """Rows that a preview would change, with their values: encrypted, and deleted within the hour."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="samples")
    node = models.CharField(max_length=63)
    encrypted = models.TextField()
    at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "node"], name="sample_of_run"),)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}"


class CommitRecord(models.Model):
    """A load transaction that has committed. Unless it was forgotten, a target's newest commit must still exist in the
    target before the next run."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="commits")
    run = models.ForeignKey(Run, models.CASCADE, related_name="commits")
    node = models.CharField(max_length=63)
    attempt = models.PositiveIntegerField()
    token = models.BigIntegerField(default=0)
    rows_loaded = models.BigIntegerField(default=0)
    # The statements that the load sent to the database.
    statements = models.JSONField(default=list)
    hooks_done = models.JSONField(default=list)
    committed_at = models.DateTimeField()
    forgotten_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "node"], name="commit_of_run"),)
        indexes = (models.Index(fields=["pipeline", "node", "-committed_at"], name="commit_newest"),)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}"


class RunLog(models.Model):
    """A line of a run's log. It contains no row values and no secrets."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.ForeignKey(Run, models.CASCADE, related_name="log")
    attempt = models.PositiveIntegerField()
    at = models.DateTimeField(db_index=True)
    level = models.CharField(max_length=10)
    node = models.CharField(max_length=63, blank=True)
    message = models.TextField()

    class Meta:
        indexes = (models.Index(fields=["run", "id"], name="log_of_run"),)

    def __str__(self) -> str:
        return f"{self.level}: {self.message}"


from flowapp.runs.load_units import models as _load_units  # noqa: E402, F401  (Django looks for models here)
