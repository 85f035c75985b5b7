"""Runs in API requests and responses, and in command output."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, ErrorSerializer, ValueField, WireSerializer
from flowapp.runs.models import Decision, Run, RunKind, State, Trigger
from flowapp.runs.run_kinds import spec_of
from flowapp.runs.selectors import failed_hooks, run_document, run_error
from flowapp.runs.services import QUEUES


class RunErrorSerializer(ErrorSerializer):
    """The error of a run."""

    detail = serializers.CharField(
        required=False, help_text="The database's own message, for roles that see values of rows."
    )


class RunSummarySerializer(CamelSerializer[Run]):
    """A run in a list."""

    run = serializers.UUIDField(source="pk")
    pipeline = serializers.CharField(source="pipeline.slug")
    version = serializers.IntegerField(source="version_number", allow_null=True, help_text="Null for a draft.")
    number = serializers.IntegerField(
        help_text="Counted from 1 in each pipeline, separately for runs that do not count, such as previews."
    )
    name = serializers.CharField(help_text="Such as orders/12, or orders/preview-3.")
    kind = serializers.ChoiceField(RunKind.choices)
    trigger = serializers.ChoiceField(Trigger.choices)
    trigger_name = serializers.CharField(help_text="The name of the webhook trigger; empty for other triggers.")
    scheduled_at = serializers.DateTimeField(allow_null=True, help_text="The time of the schedule; null without one.")
    attempt = serializers.IntegerField()
    state = serializers.ChoiceField(State.choices)
    queued_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    error = serializers.SerializerMethodField()
    failed_hooks = serializers.SerializerMethodField()

    @extend_schema_field(RunErrorSerializer(allow_null=True))
    def get_error(self, run: Run) -> dict[str, Any] | None:
        error = run_error(run)
        return None if error is None else RunErrorSerializer(error).data

    def get_failed_hooks(self, run: Run) -> list[str]:
        return failed_hooks(run)


class ReferenceReadSerializer(WireSerializer[Any]):
    """The reference of a join: the file or table in which it looked up rows."""

    name = serializers.CharField(help_text="A file, a table, or how many files.")
    identity = serializers.CharField(help_text="The SHA-256 of the file, of all files together, or of the snapshot.")
    rows = serializers.IntegerField(allow_null=True, help_text="Null if the rows were not counted.")


class JoinSerializer(WireSerializer[Any]):
    """The number of rows that a join looked up, and of those with a match."""

    reference = serializers.CharField()
    type = serializers.CharField()
    matched = serializers.IntegerField()
    unmatched = serializers.IntegerField()
    read = ReferenceReadSerializer(allow_null=True)


class BranchSerializer(WireSerializer[Any]):
    """The number of rows of one branch, by the node that it leads to."""

    to = serializers.CharField()
    rows = serializers.IntegerField()


class NodeSerializer(WireSerializer[Any]):
    """The counts of one node. Counts that do not apply to its kind are absent."""

    id = serializers.CharField()
    kind = serializers.CharField()
    rows_in = serializers.IntegerField()
    rows_out = serializers.IntegerField()
    rows_read = serializers.IntegerField(required=False)
    rows_exploded = serializers.IntegerField(
        required=False, help_text="Rows that explode made of records, less these records."
    )
    rows_filtered = serializers.IntegerField(required=False)
    rows_elsewhere = serializers.IntegerField(required=False, help_text="Rows that were passed to other branches.")
    rows_grouped = serializers.IntegerField(
        required=False, help_text="Rows that an aggregate took into groups, less one for each group."
    )
    rows_rejected = serializers.IntegerField(required=False)
    rows_rejected_here = serializers.IntegerField(required=False)
    rows_staged = serializers.IntegerField(required=False)
    rows_replaced = serializers.IntegerField(required=False)
    rows_behind_mark = serializers.IntegerField(required=False)
    rows_suppressed = serializers.IntegerField(required=False)
    rows_loaded = serializers.IntegerField(required=False)
    rows_inserted = serializers.IntegerField(required=False)
    rows_updated = serializers.IntegerField(required=False)
    rows_unchanged = serializers.IntegerField(required=False)
    rows_deleted = serializers.IntegerField(
        required=False, help_text="Rows of the table that were deleted, because their source has deleted them."
    )
    rows_warned = serializers.IntegerField(required=False)
    duration_ms = serializers.IntegerField()
    joins = JoinSerializer(many=True, required=False)
    branches = BranchSerializer(many=True, required=False)


class RuleSerializer(WireSerializer[Any]):
    """The violations of one rule."""

    node = serializers.CharField()
    rule = serializers.CharField()
    type = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    on_fail = serializers.CharField()
    violations = serializers.IntegerField()
    evaluated = serializers.IntegerField(
        allow_null=True, help_text="The number of evaluated rows; null if it is not counted."
    )


class CheckSerializer(WireSerializer[Any]):
    """The result of a dataset check."""

    node = serializers.CharField()
    check = serializers.CharField()
    ok = serializers.BooleanField()
    message = serializers.CharField(allow_null=True)
    observed = ValueField()
    subject = serializers.CharField(required=False, help_text="Distinguishes checks of one kind.")
    target = serializers.CharField(
        required=False, help_text="The target whose rows were evaluated, if several targets share the check."
    )


class QuarantineSerializer(WireSerializer[Any]):
    rows = serializers.IntegerField()
    entries = serializers.IntegerField(help_text="One for each violated rule of each row.")
    tables = serializers.ListField(child=serializers.CharField())


class RunWarningSerializer(WireSerializer[Any]):
    code = serializers.CharField()
    node = serializers.CharField(allow_null=True)
    message = serializers.CharField()


class HookSerializer(WireSerializer[Any]):
    """The result of a hook."""

    id = serializers.CharField()
    node = serializers.CharField()
    kind = serializers.CharField()
    stage = serializers.CharField()
    state = serializers.ChoiceField(["succeeded", "failed", "not_run", "queued"])
    statement = serializers.CharField(help_text="The action of the hook, in words or SQL.")
    message = serializers.CharField()
    duration_ms = serializers.IntegerField()


class EffectKeysSerializer(WireSerializer[Any]):
    """The numbers of staged rows compared by key with the rows of the target."""

    key = serializers.ListField(child=serializers.CharField())
    new = serializers.IntegerField()
    changed = serializers.IntegerField()
    same = serializers.IntegerField()
    older = serializers.IntegerField()
    gone = serializers.IntegerField(help_text="Keys of the target without a staged row.")
    changed_columns = serializers.DictField(child=serializers.IntegerField())


class EffectSampleSerializer(WireSerializer[Any]):
    """A row that would change: its key, and the old and new value of each column."""

    key = serializers.DictField(child=serializers.CharField(allow_null=True))
    changes = serializers.DictField(child=serializers.ListField(child=serializers.CharField(allow_null=True)))


class EffectSerializer(WireSerializer[Any]):
    """The changes that a load would make in one target."""

    node = serializers.CharField()
    table = serializers.CharField()
    load_mode = serializers.CharField()
    is_new_table = serializers.BooleanField()
    rows_before = serializers.IntegerField()
    rows_after = serializers.IntegerField()
    rows_inserted = serializers.IntegerField()
    rows_updated = serializers.IntegerField()
    rows_unchanged = serializers.IntegerField()
    rows_deleted = serializers.IntegerField()
    rows_suppressed = serializers.IntegerField()
    keys = EffectKeysSerializer(allow_null=True)
    held_for = serializers.ListField(child=serializers.CharField())
    samples = EffectSampleSerializer(
        many=True,
        required=False,
        allow_null=True,
        help_text="Null for roles that see no values, and after the values have expired.",
    )


class RowOutcomeSerializer(WireSerializer[Any]):
    """The expected outcome of one rejected row in a check without a load."""

    key = serializers.CharField()
    id = serializers.IntegerField()
    source_file = serializers.CharField(allow_null=True)
    source_record = serializers.IntegerField(allow_null=True)
    result = serializers.CharField()
    rules = serializers.ListField(child=serializers.CharField())
    conflict = EffectSampleSerializer(
        allow_null=True, help_text="The row of the table with the same key, if the values differ."
    )


class RowOutcomesSerializer(WireSerializer[Any]):
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Rows by result.")
    results = RowOutcomeSerializer(
        many=True, allow_null=True, help_text="Null for roles that see no values, and after the values have expired."
    )


class HoldReasonSerializer(WireSerializer[Any]):
    """A limit that the load exceeds; or `approved`, with the approved counts and the current ones."""

    limit = serializers.CharField()
    allowed = serializers.FloatField()
    found = serializers.FloatField()
    message = serializers.CharField()
    column = serializers.CharField(allow_null=True)


class HoldSerializer(WireSerializer[Any]):
    """Why the run was held, and the decision."""

    node = serializers.CharField()
    attempt = serializers.IntegerField()
    reasons = HoldReasonSerializer(many=True)
    effect = EffectSerializer()
    held_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decision = serializers.ChoiceField(Decision.choices, allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    decided_by = serializers.CharField(allow_null=True)
    reason = serializers.CharField(allow_null=True)


class FailedAttemptSerializer(WireSerializer[Any]):
    """An attempt that failed and was retried."""

    attempt = serializers.IntegerField()
    failed_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(help_text="When the next attempt could begin.")
    error = ErrorSerializer()
    counts = serializers.BooleanField(help_text="False for a lost worker: it does not count against `maxAttempts`.")


class RunSerializer(WireSerializer[Any]):
    """A run as `flow run --json` prints it. Some parts only exist for some kinds of runs."""

    run = serializers.UUIDField()
    pipeline = serializers.CharField()
    version = serializers.IntegerField(allow_null=True, help_text="Null for a draft.")
    attempt = serializers.IntegerField()
    state = serializers.ChoiceField(State.choices)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    nodes = NodeSerializer(many=True)
    rules = RuleSerializer(many=True)
    checks = CheckSerializer(many=True)
    quarantine = QuarantineSerializer()
    warnings = RunWarningSerializer(many=True)
    hooks = HookSerializer(many=True)
    error = RunErrorSerializer(allow_null=True)
    kind = serializers.ChoiceField(RunKind.choices, required=False)
    nothing_new = serializers.BooleanField(required=False, help_text="Of a preview.")
    effects = EffectSerializer(many=True, required=False, help_text="Of a preview.")
    rows = RowOutcomesSerializer(required=False, help_text="Of a run over rejected rows.")
    holds = HoldSerializer(many=True, required=False, help_text="Of a run that was held.")
    max_attempts = serializers.IntegerField(required=False, help_text="Of a run with failed attempts.")
    failed_attempts = FailedAttemptSerializer(many=True, required=False, help_text="Of a run with several attempts.")
    missing_targets = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Of a partially loaded run: the targets that are not loaded.",
    )


def run_json(run: Run, *, sees_values: bool) -> dict[str, Any]:
    """Return a run for the API and the command line."""
    return RunSerializer(run_document(run, sees_values=sees_values)).data


class RunRequest(CamelSerializer[Any]):
    kind = serializers.ChoiceField([kind.value for kind in QUEUES], default=RunKind.LOAD)
    if_busy = serializers.ChoiceField(["wait", "refuse"], required=False)
    load_again = serializers.CharField(
        required=False, max_length=2000, help_text="The reason for loading everything again."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not spec_of(attrs["kind"]).loads and (extra := {"if_busy", "load_again"} & attrs.keys()):
            names = [name for name, field in self.fields.items() if (field.source or name) in extra]
            raise serializers.ValidationError(dict.fromkeys(names, "A preview takes no `ifBusy` and no `loadAgain`."))
        return attrs


class RunFilter(CamelSerializer[Any]):
    pipeline = serializers.CharField(required=False)
    state = serializers.ChoiceField(State.choices, required=False)
    trigger = serializers.ChoiceField(Trigger.choices, required=False)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)


class ApproveRequest(CamelSerializer[Any]):
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class DiscardRequest(CamelSerializer[Any]):
    reason = serializers.CharField(max_length=2000, help_text="The reason for rejecting the load. It is stored.")
