"""Work on rejected rows: selections, the jobs of runs, and decisions. No row values are stored here."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from flowapp.quarantine.job_rows import JobRows


class Selection(models.Model):
    """A fixed selection of rows: each row is identified by one of its entries and that entry's revision.

    `parts` is a list of `{connection, table, ids, revisions}`. `wanted` is the filter; `is_whole` means that the size
    limit excluded no row.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+")
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(db_index=True)
    filters = models.JSONField(default=dict)
    parts = models.JSONField(default=list)
    rows = models.PositiveIntegerField()
    is_whole = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.rows} rows of {self.pipeline_id}"


class RowJob(models.Model):
    """What a run does with rejected rows of one target node.

    `row_from` is the form of the rows: as the source provided them, or as they reached the node. A fix computes
    `expression` for `column` and keeps manually entered values unless it `replaces_typed`. `by_words` names who
    requested the run; `selection` is the selection, which may be deleted. `rows` are `JobRows`, NULL some time after
    the run has ended.
    """

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    run = models.OneToOneField("runs.Run", models.CASCADE, related_name="row_job")
    node = models.CharField(max_length=63)
    row_from = models.CharField(max_length=10)
    column = models.TextField(blank=True)
    expression = models.TextField(blank=True)
    replaces_typed = models.BooleanField(default=False)
    by_words = models.CharField(max_length=300, blank=True)
    reason = models.TextField(blank=True)
    selection = models.UUIDField(null=True)
    rows = models.JSONField(null=True)

    def __str__(self) -> str:
        return f"{self.run_id} {self.node}"

    @property
    def job_rows(self) -> JobRows:
        """The rows; empty once they have expired."""
        return JobRows() if self.rows is None else JobRows.from_json(self.rows)


class RowDecision(models.Model):
    """Who did what to how many rejected rows, and why. `details` holds names and counts, never values."""

    workspace = models.ForeignKey("accounts.Workspace", models.PROTECT, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.SET_NULL, null=True, related_name="+")
    run = models.ForeignKey("runs.Run", models.SET_NULL, null=True, related_name="+")
    action = models.CharField(max_length=20)
    at = models.DateTimeField(db_index=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    by_words = models.CharField(max_length=300)
    reason = models.TextField(blank=True)
    rows = models.BigIntegerField()
    excluded = models.BigIntegerField(default=0)
    details = models.JSONField(default=dict)

    class Meta:
        indexes = (
            models.Index(fields=["workspace", "-at", "id"], name="row_decision_newest"),
            # The scheduler repeatedly looks for unfinished purges among all decisions.
            models.Index(fields=["at", "id"], name="row_decision_purges", condition=models.Q(action="purge")),
        )

    def __str__(self) -> str:
        return f"{self.action} {self.rows} rows"


class Retention(models.Model):
    """The number of days for which a workspace stores rejected rows. Without a record, they are stored until a user
    deletes them."""

    workspace = models.OneToOneField("accounts.Workspace", models.CASCADE, related_name="+")
    days = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.days} days"


class GroupKind(models.TextChoices):
    PIPELINE = "pipeline"
    RULE = "rule"
    FIELD = "field"


class ViolationGroup(models.Model):
    """A group of violations: of a pipeline, of one of its rules, or of one of its fields.

    Columns that do not identify a group of this kind are empty. `key` is a hash of those that do."""

    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+")
    pipeline = models.ForeignKey("pipelines.Pipeline", models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=10, choices=GroupKind.choices)
    key = models.CharField(max_length=64)
    node = models.CharField(max_length=63, blank=True)
    rule = models.TextField(blank=True)
    type = models.CharField(max_length=40, blank=True)
    field = models.TextField(null=True)  # noqa: DJ001 - a rule without a field differs from a field named ''
    on_fail = models.CharField(max_length=10, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["pipeline", "key"], name="violation_group"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.rule or self.field or self.pipeline_id}"


class Span(models.TextChoices):
    DAY = "day"
    BLOCK = "block"


class ViolationTotal(models.Model):
    """The violations of a group in the runs queued on one day, or in a block of days, in UTC.

    `runs` is the number of runs with violations, never 0; `newest` is when the newest of them was queued. Workspace and
    kind repeat those of the group, so that one index serves the sums over a workspace."""

    workspace = models.ForeignKey("accounts.Workspace", models.CASCADE, related_name="+", db_index=False)
    group = models.ForeignKey(ViolationGroup, models.CASCADE, related_name="totals", db_index=False)
    kind = models.CharField(max_length=10, choices=GroupKind.choices)
    span = models.CharField(max_length=5, choices=Span.choices)
    starts = models.DateField()
    violations = models.BigIntegerField()
    runs = models.PositiveIntegerField()
    newest = models.DateTimeField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["group", "span", "starts"], name="violation_total"),)
        indexes = (
            models.Index(
                fields=["workspace", "kind", "span", "starts"],
                name="violation_total_by_day",
                include=["group", "violations", "runs", "newest"],
            ),
            models.Index(fields=["starts"], name="violation_total_age"),
        )

    def __str__(self) -> str:
        return f"{self.group_id} {self.span} {self.starts}: {self.violations}"
