"""Alerts in API responses and command output."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.alerts.kinds import ALERT_KINDS, AlertKind
from flowapp.alerts.models import Alert, AlertState, Severity
from flowapp.api.serializers import CamelSerializer, OptionalTextField, WholeListSerializer


class AlertFilter(CamelSerializer[Any]):
    state = serializers.ChoiceField(AlertState.choices, required=False)
    kind = serializers.ChoiceField(list(ALERT_KINDS), required=False)
    severity = serializers.ChoiceField(Severity.choices, required=False)
    pipeline = serializers.CharField(required=False)


class AlertActSerializer(CamelSerializer[Any]):
    at = serializers.DateTimeField()
    by = serializers.EmailField(source="by.email", allow_null=True, help_text="Null if no user did it.")


class AlertResolutionSerializer(AlertActSerializer):
    how = serializers.CharField(help_text="The event that resolved it, or `person`.")


class AlertSerializer(CamelSerializer[Alert]):
    id = serializers.UUIDField()
    kind = serializers.CharField(help_text="One of those at `/api/alerts/kinds/`.")
    title = serializers.CharField()
    severity = serializers.ChoiceField(Severity.choices)
    state = serializers.ChoiceField(AlertState.choices)
    pipeline = serializers.CharField(source="pipeline.slug", allow_null=True)
    run = serializers.UUIDField(source="run_id", allow_null=True)
    node = OptionalTextField()
    message = serializers.CharField()
    next_step = serializers.CharField(help_text="What to do.")
    count = serializers.IntegerField(help_text="The number of times that the alert was raised.")
    first_seen_at = serializers.DateTimeField()
    last_seen_at = serializers.DateTimeField()
    resolved_by = OptionalTextField(
        source="ended_by", help_text="What resolves it automatically; null if only a person can."
    )
    acknowledged = serializers.SerializerMethodField()
    resolved = serializers.SerializerMethodField()

    @extend_schema_field(AlertActSerializer(allow_null=True))
    def get_acknowledged(self, alert: Alert) -> dict[str, Any] | None:
        act = {"at": alert.acknowledged_at, "by": alert.acknowledged_by}
        return AlertActSerializer(act).data if alert.acknowledged_at else None

    @extend_schema_field(AlertResolutionSerializer(allow_null=True))
    def get_resolved(self, alert: Alert) -> dict[str, Any] | None:
        act = {"at": alert.resolved_at, "by": alert.resolved_by, "how": alert.resolved_how}
        return AlertResolutionSerializer(act).data if alert.resolved_at else None


class AlertKindSerializer(CamelSerializer[AlertKind]):
    kind = serializers.CharField()
    title = serializers.CharField()
    resolved_by = serializers.CharField(source="resolver", help_text="What resolves such alerts, in words.")
    sent_by_channels = serializers.BooleanField(source="is_sent", help_text="Whether channels send such alerts.")


class AlertKindListSerializer(WholeListSerializer):
    results = AlertKindSerializer(many=True)
