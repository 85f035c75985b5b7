"""Streams in API responses and command output."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer
from flowapp.streams.models import StreamHour
from flowapp.streams.selectors import StreamView

STATUSES = ["running", "paused", "stopped", "manual", "starting", "retrying", "unused"]


class SlotSerializer(CamelSerializer[Any]):
    name = serializers.CharField()
    status = serializers.CharField(
        help_text="`wal_status` of the slot, or `missing`; of a log without a slot, `file` or `lost`."
    )
    retained_bytes = serializers.IntegerField(allow_null=True, required=False)
    behind_bytes = serializers.IntegerField(allow_null=True, required=False)
    safe_bytes = serializers.IntegerField(
        allow_null=True, required=False, help_text="How much more log may be written before the slot is lost."
    )
    left_seconds = serializers.FloatField(
        allow_null=True, required=False, help_text="After this time the server may remove the log, which has no slot."
    )


class StreamSerializer(CamelSerializer[StreamView]):
    """The stream of a pipeline."""

    pipeline = serializers.CharField(source="pipeline.slug")
    status = serializers.ChoiceField(STATUSES)
    reason = serializers.CharField(source="stream.reason", help_text="Why it is paused or stopped.")
    code = serializers.CharField(source="stream.code")
    changed_at = serializers.DateTimeField(source="stream.changed_at")
    changed_by = serializers.CharField(source="stream.changed_by")
    run = serializers.UUIDField(source="run.pk", allow_null=True, default=None)
    lag_seconds = serializers.FloatField(source="lag", allow_null=True)
    current_to = serializers.DateTimeField(source="stream.current_to", allow_null=True)
    failing_code = serializers.CharField(source="stream.failing_code")
    failing_message = serializers.CharField(source="stream.failing_message")
    needs_snapshot = serializers.BooleanField()
    slot = serializers.SerializerMethodField()
    slot_seen_at = serializers.DateTimeField(source="stream.slot_seen_at", allow_null=True)

    def get_slot(self, view: StreamView) -> dict[str, Any] | None:
        return dict(SlotSerializer(view.stream.slot).data) if view.stream.slot else None


class StreamHourSerializer(CamelSerializer[StreamHour]):
    hour = serializers.DateTimeField()
    windows = serializers.IntegerField()
    rows = serializers.IntegerField()
    inserted = serializers.IntegerField()
    updated = serializers.IntegerField()
    deleted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    worst_lag = serializers.FloatField(help_text="Seconds.")


class StreamReason(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000, required=False, default="", allow_blank=True)
