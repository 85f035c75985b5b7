"""Watermarks in API responses and command output."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.api.bodies import Reason
from flowapp.api.serializers import CamelSerializer, OptionalTextField
from flowapp.watermarks.selectors import Watermark


class WatermarkChangeSerializer(CamelSerializer[Any]):
    at = serializers.DateTimeField()
    action = serializers.ChoiceField(["run", "set", "reset", "restore"])
    by = serializers.CharField(allow_null=True, help_text="Null for runs.")
    run = serializers.CharField(source="run_id", allow_null=True)
    reason = serializers.CharField()
    column = serializers.CharField()
    old = serializers.CharField(allow_null=True)
    new = serializers.CharField(allow_null=True)


class WatermarkWarningSerializer(CamelSerializer[Any]):
    code = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField()


@extend_schema_field({"type": ["string", "number"]})
class LagField(serializers.JSONField):
    """A duration if the watermark is a time, a number if it is a number."""


class WatermarkSerializer(CamelSerializer[Watermark]):
    """The watermark of one target."""

    pipeline = serializers.CharField(source="target.pipeline.slug")
    node = serializers.CharField(source="target.node.id")
    connection = serializers.CharField(source="target.node.connection")
    schema = serializers.CharField(source="target.node.schema_")
    table = serializers.CharField(source="target.node.table")
    column = serializers.CharField()
    type = OptionalTextField()
    value = serializers.CharField(allow_null=True, help_text="Null before the first load and after a reset.")
    lag = LagField(
        source="target.node.watermark_lag",
        allow_null=True,
        help_text="The distance below the watermark at which a load begins.",
    )
    boundary_rows = serializers.IntegerField(help_text="Loaded rows with this value.")
    is_live = serializers.SerializerMethodField(help_text="False if only the copy of `seenAt` is available.")
    trouble = OptionalTextField(help_text="Why the database could not be queried.")
    seen_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.CharField(help_text="Changes with every change of the watermark. Send it as `If-Match`.")
    next_run = serializers.ListField(child=serializers.CharField(), help_text="What the next load does, in sentences.")
    changes = WatermarkChangeSerializer(many=True, help_text="The newest ones.")
    warnings = WatermarkWarningSerializer(many=True, help_text="The consequences of setting or resetting it.")

    def get_is_live(self, watermark: Watermark) -> bool:
        return not watermark.trouble


class WatermarkRequest(Reason):
    value = serializers.CharField(max_length=10_000, trim_whitespace=False)


class WatermarkCheckRequest(CamelSerializer[Any]):
    value = serializers.CharField(
        max_length=10_000,
        trim_whitespace=False,
        allow_null=True,
        help_text="The value to set; null for a reset.",
    )


class WatermarkCheckSerializer(CamelSerializer[Any]):
    next_run = serializers.ListField(child=serializers.CharField(), help_text="What the next load would do.")
    warnings = WatermarkWarningSerializer(many=True)
