"""Rejected rows in API requests and responses, and in command output."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from executors.target_database import STATUSES
from flowapp.api.paging import no_cursor
from flowapp.api.serializers import CamelSerializer, RowField, WireSerializer
from flowapp.quarantine.choosing import MOST_KEYS
from flowapp.quarantine.counts import GROUPS
from flowapp.quarantine.exporting import FORMATS
from flowapp.quarantine.results import USUAL, RowResult
from flowapp.quarantine.selectors import read_cursor
from flowapp.quarantine.totals import MOST_DAYS


class EntrySerializer(WireSerializer[Any]):
    """A violation: one rule that one row violated."""

    id = serializers.IntegerField(help_text="The number of the entry in its table.")
    key = serializers.CharField(help_text="The key of the row: `run:row`.")
    pipeline_id = serializers.CharField()
    run_id = serializers.CharField()
    attempt = serializers.IntegerField(allow_null=True)
    node_id = serializers.CharField()
    target_node = serializers.CharField(allow_null=True)
    rule_id = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    message = serializers.CharField()
    severity = serializers.CharField()
    disposition = serializers.ChoiceField(["dropped", "loaded", "not_loaded"])
    status = serializers.ChoiceField(STATUSES)
    source_file = serializers.CharField(allow_null=True)
    source_record = serializers.IntegerField(allow_null=True)
    row_id = serializers.CharField()
    row_from = serializers.CharField()
    row = RowField(allow_null=True, help_text="Null if `valuesHidden` is true.")
    created_at = serializers.DateTimeField()
    fixed_row = RowField(allow_null=True, help_text="The fixed row.")
    fixed_by = serializers.CharField(allow_null=True)
    revision = serializers.IntegerField(allow_null=True)
    decided_by = serializers.CharField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    reason = serializers.CharField(allow_null=True)
    replay_run = serializers.CharField(allow_null=True)
    replay_result = serializers.CharField(allow_null=True)
    replay_rules = serializers.ListField(child=serializers.CharField(), allow_null=True)
    superseded_by = serializers.CharField(allow_null=True)
    table = serializers.CharField()
    connection = serializers.CharField()
    values_hidden = serializers.BooleanField()


class EntriesSerializer(WireSerializer[Any]):
    results = EntrySerializer(many=True)


class EntryPageSerializer(EntriesSerializer):
    next = serializers.URLField(allow_null=True)
    partial = serializers.BooleanField(help_text="A search stopped before the end; `next` continues from there.")  # type: ignore[assignment]  # a field, not the option of serializers


class ViolationCountSerializer(WireSerializer[Any]):
    """The counts of a group. Columns that do not identify the group are absent."""

    pipeline = serializers.CharField(required=False)
    node = serializers.CharField(required=False)
    rule = serializers.CharField(required=False)
    type = serializers.CharField(required=False)
    field = serializers.CharField(required=False, allow_null=True)
    on_fail = serializers.CharField(required=False)
    day = serializers.DateField(required=False)
    violations = serializers.IntegerField()
    runs = serializers.IntegerField()
    newest = serializers.DateTimeField()


class ViolationCountsSerializer(CamelSerializer[Any]):
    results = ViolationCountSerializer(many=True)


class RowResultSerializer(CamelSerializer[RowResult]):
    """The result of one row of a replay, and its current status."""

    key = serializers.CharField(allow_null=True)
    id = serializers.IntegerField(source="listed.entry")
    source_file = serializers.CharField(source="listed.source_file", allow_null=True)
    source_record = serializers.IntegerField(source="listed.source_record", allow_null=True)
    result = serializers.CharField(source="listed.result")
    rules = serializers.ListField(child=serializers.CharField(), source="listed.rules")
    status = serializers.CharField(source="now", allow_null=True)


class RowResultPageSerializer(CamelSerializer[Any]):
    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="The numbers that the run counted, by result."
    )
    listed = serializers.DictField(
        child=serializers.IntegerField(), help_text="The numbers of listed results, by result."
    )
    next = serializers.URLField(allow_null=True)
    results = RowResultSerializer(many=True)


class QueuedRunsSerializer(CamelSerializer[Any]):
    runs = serializers.ListField(child=serializers.UUIDField(), help_text="They describe the results of the rows.")
    rows = serializers.IntegerField()
    complete = serializers.BooleanField(help_text="Whether these are all selected rows.")
    notes = serializers.ListField(child=serializers.CharField())


class DecidedSerializer(CamelSerializer[Any]):
    changed = serializers.IntegerField()
    excluded = serializers.IntegerField()


class PurgedSerializer(WireSerializer[Any]):
    entries = serializers.IntegerField(allow_null=True, help_text="Null if counting would take too long.")
    at_least = serializers.IntegerField(required=False, help_text="The number counted until the time limit.")
    complete = serializers.BooleanField(
        required=False, help_text="Whether all entries were deleted. If not, the scheduler deletes the others."
    )


class RowFilter(CamelSerializer[Any]):
    """The filters of entries."""

    pipeline = serializers.CharField(required=False)
    run = serializers.UUIDField(required=False)
    rule = serializers.CharField(required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    status = serializers.ChoiceField(STATUSES, required=False)
    day = serializers.DateField(required=False)
    replay = serializers.UUIDField(required=False, help_text="Only rows that this run has replayed last.")
    search = serializers.CharField(required=False, max_length=200, help_text="Text in the row; needs rows.view.")


class EntryPageFilter(RowFilter):
    limit = serializers.IntegerField(default=50, min_value=1, max_value=500)
    cursor = serializers.CharField(default="", allow_blank=True)

    def validate_cursor(self, cursor: str) -> str:
        try:
            read_cursor(cursor)
        except ValueError:
            raise no_cursor() from None
        return cursor


class ViolationCountFilter(CamelSerializer[Any]):
    by = serializers.ChoiceField(sorted(GROUPS), default="rule")
    days = serializers.IntegerField(default=30, min_value=1, max_value=MOST_DAYS)
    pipeline = serializers.CharField(required=False)


class RowChangeRequest(CamelSerializer[Any]):
    status = serializers.ChoiceField(["fixed", "ignored", "open"], required=False)
    cells = serializers.DictField(
        child=serializers.CharField(allow_null=True, allow_blank=True, trim_whitespace=False), required=False
    )
    reason = serializers.CharField(default="", allow_blank=True, max_length=2000)
    revision = serializers.IntegerField(
        required=False, help_text="The status that the client saw. If it differs, the answer is 409."
    )


class RowsRequest(CamelSerializer[Any]):
    """Rows by their keys, or all rows that match filters."""

    ids = serializers.ListField(child=serializers.CharField(), required=False, max_length=MOST_KEYS)
    filter = RowFilter(required=False)
    reason = serializers.CharField(default="", allow_blank=True, max_length=2000)


class ReplayRequest(RowsRequest):
    recheck = serializers.BooleanField(default=False, help_text="Only report what would happen to the rows.")
    overwrite = serializers.ListField(
        child=serializers.CharField(), required=False, help_text='Keys of rows that may replace newer rows, or ["all"].'
    )


class FixRequest(RowsRequest):
    field = serializers.CharField()
    expression = serializers.CharField(max_length=10_000)
    replace_typed = serializers.BooleanField(default=False, help_text="Also replace manually edited values.")


class RowResultFilter(CamelSerializer[Any]):
    result = serializers.CharField(required=False, max_length=40)
    limit = serializers.IntegerField(default=USUAL, min_value=1, max_value=500)
    cursor = serializers.CharField(default="", allow_blank=True)

    def validate_cursor(self, cursor: str) -> str:
        if cursor and not (cursor.isdecimal() and len(cursor) < 10):
            raise no_cursor()
        return cursor


class DecideRequest(RowsRequest):
    action = serializers.ChoiceField(["ignore", "reopen", "revert"])


class ExportFilter(RowFilter):
    file = serializers.ChoiceField(sorted(FORMATS), default="csv")


class PurgeRequest(CamelSerializer[Any]):
    filter = RowFilter()
    older_than_days = serializers.IntegerField(min_value=0)
    reason = serializers.CharField(max_length=2000)
    dry_run = serializers.BooleanField(default=False)
