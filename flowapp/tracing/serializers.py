"""Results of "Where did my row go?" in API responses and command output."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, OptionalTextField, RowField, WireSerializer, represent_all
from flowapp.tracing.selectors import FoundRow, SearchedLocation, TargetTrace


class TraceRequest(CamelSerializer[Any]):
    """`key` maps columns of the target to values in the form that the database writes them."""

    key = serializers.DictField(child=serializers.CharField(trim_whitespace=False, max_length=1000))
    target = serializers.CharField(default="", max_length=63)


class RejectionSerializer(WireSerializer[Any]):
    """The reason why a row was rejected."""

    node = serializers.CharField(source="nodeId", allow_null=True)
    rule = serializers.CharField(source="ruleId")
    rule_name = serializers.CharField()
    field = serializers.CharField(allow_null=True)
    message = serializers.CharField(allow_null=True)
    disposition = serializers.CharField()
    status = serializers.CharField()
    row_id = serializers.CharField()


class FoundRowSerializer(CamelSerializer[FoundRow]):
    values = RowField(allow_null=True)
    run = OptionalTextField(source="run_id")
    run_number = serializers.IntegerField(source="run.number", allow_null=True)
    run_name = serializers.CharField(source="run.name", allow_null=True)
    backfill = OptionalTextField(help_text="The chunk of a backfill that the run has loaded, with the reason.")
    file = OptionalTextField()
    file_hash = OptionalTextField(source="sha256")
    record = serializers.IntegerField(allow_null=True, help_text="The number of the record in the file.")
    rejection = serializers.SerializerMethodField()

    @extend_schema_field(RejectionSerializer(allow_null=True))
    def get_rejection(self, row: FoundRow) -> dict[str, Any] | None:
        return RejectionSerializer(row.entry).data if row.entry else None


class TraceLocationSerializer(CamelSerializer[SearchedLocation]):
    """A location that was searched."""

    location = serializers.CharField(source="what", help_text="In words.")
    kind = serializers.CharField()
    rows = FoundRowSerializer(many=True, source="found")
    has_more = serializers.BooleanField()
    could_not_look = OptionalTextField(source="trouble", help_text="Why it could not be searched.")
    note = OptionalTextField()


class ExcludedRowsSerializer(CamelSerializer[Any]):
    why = serializers.CharField()
    rows = serializers.IntegerField()


class TargetTraceSerializer(CamelSerializer[TargetTrace]):
    target = serializers.CharField(source="node")
    found = serializers.BooleanField(source="is_found")
    certain = serializers.BooleanField(
        source="is_sure", help_text="Whether the row is certainly absent if nothing was found."
    )
    locations = TraceLocationSerializer(many=True)
    recently_excluded = serializers.SerializerMethodField(help_text="Rows that recent loads excluded.")

    @extend_schema_field(ExcludedRowsSerializer(many=True))
    def get_recently_excluded(self, trace: TargetTrace) -> list[dict[str, Any]]:
        return represent_all(ExcludedRowsSerializer, ({"why": why, "rows": rows} for why, rows in trace.excluded))


class TraceSerializer(CamelSerializer[Any]):
    pipeline = serializers.CharField()
    targets = TargetTraceSerializer(many=True)
