"""Channels and what was sent by them, as the API takes and sends them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.alerts.models import Severity
from flowapp.api.serializers import CamelSerializer, MomentMethodField, WholeListSerializer
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.kinds.email import SECURITIES
from flowapp.channels.models import Channel, Delivery, DeliveryState, Event


class ChannelSerializer(CamelSerializer[Channel]):
    """A channel without its secrets. Those of each kind have fields of their own."""

    name = serializers.CharField()
    kind = serializers.ChoiceField(list(CHANNEL_KINDS))
    host = serializers.CharField(source="settings.host", help_text="The receiver's, or the mail server.")
    headers = serializers.ListField(
        child=serializers.CharField(), source="settings.headers", required=False, help_text="Names; of a webhook."
    )
    port = serializers.IntegerField(source="settings.port", required=False, help_text="Of email.")
    security = serializers.ChoiceField(SECURITIES, source="settings.security", required=False, help_text="Of email.")
    user = serializers.CharField(source="settings.user", required=False, help_text="Of email.")
    sender = serializers.CharField(source="settings.sender", required=False, help_text="Of email.")
    to = serializers.ListField(
        child=serializers.CharField(), source="settings.to", required=False, help_text="Of email."
    )
    severity = serializers.ChoiceField(Severity.choices, help_text="The least that is sent.")
    alert_kinds = serializers.ListField(
        child=serializers.CharField(), source="kinds", help_text="The kinds of alert that are sent; empty for all."
    )
    created_at = serializers.DateTimeField()


class ChannelListSerializer(WholeListSerializer):
    results = ChannelSerializer(many=True)


class DeliveryErrorSerializer(CamelSerializer[Delivery]):
    code = serializers.CharField(source="error_code")
    message = serializers.CharField(source="error_message")


class SentAgainSerializer(CamelSerializer[Any]):
    at = serializers.DateTimeField()
    by = serializers.CharField(source="by_words")


class DeliverySerializer(CamelSerializer[Delivery]):
    """A message of a channel. The receiver gets its `key` with every attempt."""

    key = serializers.CharField()
    event = serializers.ChoiceField(Event.choices)
    state = serializers.ChoiceField(DeliveryState.choices)
    alert = serializers.UUIDField(source="alert_id", allow_null=True, help_text="Null for a test.")
    alert_kind = serializers.CharField(source="alert.kind", allow_null=True)
    pipeline = serializers.CharField(source="alert.pipeline.slug", allow_null=True)
    attempts = serializers.IntegerField()
    last_error = serializers.SerializerMethodField()
    made_at = serializers.DateTimeField()
    due_at = MomentMethodField(help_text="When it is tried next; null if it is not.")
    ended_at = serializers.DateTimeField(allow_null=True)
    sent_again = SentAgainSerializer(many=True, source="again.all")

    @extend_schema_field(DeliveryErrorSerializer(allow_null=True))
    def get_last_error(self, delivery: Delivery) -> dict[str, Any] | None:
        return DeliveryErrorSerializer(delivery).data if delivery.error_message else None

    def get_due_at(self, delivery: Delivery) -> datetime | None:
        return delivery.due_at if delivery.state == DeliveryState.PENDING else None


class ChannelAlertsRequest(CamelSerializer[Any]):
    """`severity` is the lowest severity to send; without `alertKinds` all kinds are."""

    severity = serializers.ChoiceField(Severity.choices, default=Severity.WARNING)
    alert_kinds = serializers.ListField(child=serializers.CharField(), default=list)


class ChannelRequest(ChannelAlertsRequest):
    """Of a webhook `url`, signing `secret` and `headers`; of email `host`, `sender`, `to`, `security`, `port`, `user`
    and `password`."""

    name = serializers.CharField(max_length=63)
    kind = serializers.ChoiceField(list(CHANNEL_KINDS))
    url = serializers.CharField(default="", write_only=True, max_length=2000)
    secret = serializers.CharField(default="", write_only=True, trim_whitespace=False)
    headers = serializers.DictField(child=serializers.CharField(), default=dict, write_only=True)
    host = serializers.CharField(default="", max_length=253)
    sender = serializers.CharField(default="", max_length=254)
    to = serializers.ListField(child=serializers.CharField(max_length=254), default=list)
    security = serializers.ChoiceField(SECURITIES, default="starttls")
    port = serializers.IntegerField(default=0, min_value=0, max_value=65535)
    user = serializers.CharField(default="", allow_blank=True, max_length=254)
    password = serializers.CharField(default="", write_only=True, trim_whitespace=False, allow_blank=True)


class ChannelChangeRequest(CamelSerializer[Any]):
    """What is given is changed. `secret` is the new password or signing secret; another `host`, `port` or `security` of
    email wants the password again."""

    severity = serializers.ChoiceField(Severity.choices, required=False)
    alert_kinds = serializers.ListField(child=serializers.CharField(), required=False)
    secret = serializers.CharField(required=False, write_only=True, trim_whitespace=False, allow_blank=True)
    host = serializers.CharField(required=False, max_length=253)
    sender = serializers.CharField(required=False, max_length=254)
    to = serializers.ListField(child=serializers.CharField(max_length=254), required=False)
    security = serializers.ChoiceField(SECURITIES, required=False)
    port = serializers.IntegerField(required=False, min_value=0, max_value=65535)
    user = serializers.CharField(required=False, allow_blank=True, max_length=254)
