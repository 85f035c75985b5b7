"""Channels and deliveries in API requests and responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from flowapp.alerts.models import Severity
from flowapp.api.serializers import CamelSerializer, MomentMethodField, PerKindSerializer, WholeListSerializer
from flowapp.channels.kinds import CHANNEL_KINDS
from flowapp.channels.kinds.base import ChannelField, ChannelKind
from flowapp.channels.models import Channel, Delivery, DeliveryState, Event


def _wire_field(field: ChannelField, **more: Any) -> serializers.Field[Any, Any, Any, Any]:
    shared: dict[str, Any] = {"help_text": field.help or None, **more}
    if field.is_secret:
        return serializers.CharField(trim_whitespace=False, write_only=True, **shared)
    if field.type == "choice":
        return serializers.ChoiceField([value for value, _ in field.choices], **shared)
    if field.type == "port":
        return serializers.IntegerField(min_value=0, max_value=65535, **shared)
    if field.type == "lines":
        return serializers.ListField(child=serializers.CharField(max_length=field.max_length), **shared)
    if field.type == "headers":
        return serializers.DictField(child=serializers.CharField(), **shared)
    return serializers.CharField(max_length=field.max_length, **shared)


class _ChannelResponse(CamelSerializer[Channel]):
    """The fields of a channel that all kinds share."""

    name = serializers.CharField()
    severity = serializers.ChoiceField(Severity.choices, help_text="The lowest severity that is sent.")
    alert_kinds = serializers.ListField(
        child=serializers.CharField(), source="kinds", help_text="The kinds of alert that are sent; empty for all."
    )
    created_at = serializers.DateTimeField()


class ChannelSerializer(PerKindSerializer[Channel]):
    """A channel of one kind, without its secrets."""

    @classmethod
    def variants(cls) -> list[type[CamelSerializer[Any]]]:
        return [cls.variant(kind) for kind in CHANNEL_KINDS.values()]

    @staticmethod
    def variant(kind: ChannelKind) -> type[CamelSerializer[Any]]:
        settings = {field.name: _wire_field(field, source=f"settings.{field.name}") for field in kind.public_fields}
        return _variant(kind, "Channel", _ChannelResponse, {**_kind_field(), **settings})

    def to_representation(self, instance: Channel) -> dict[str, Any]:
        representation: dict[str, Any] = dict(self.variant(CHANNEL_KINDS[instance.kind])(instance).data)
        return representation


def _kind_field() -> dict[str, Any]:
    return {"kind": serializers.ChoiceField(list(CHANNEL_KINDS))}


def _variant(
    kind: ChannelKind, suffix: str, base: type[CamelSerializer[Any]], fields: Mapping[str, Any]
) -> type[CamelSerializer[Any]]:
    """Build the serializer of one kind: the common fields and those of the kind."""
    name = f"{kind.name.title().replace('_', '')}{suffix}"
    made = type(f"{name}Serializer", (base,), {"__doc__": f"{kind.label}.", **fields})
    return cast("type[CamelSerializer[Any]]", made)


class ChannelListSerializer(WholeListSerializer):
    results = ChannelSerializer(many=True)


class DeliveryErrorSerializer(CamelSerializer[Delivery]):
    code = serializers.CharField(source="error_code")
    message = serializers.CharField(source="error_message")


class SentAgainSerializer(CamelSerializer[Any]):
    at = serializers.DateTimeField()
    by = serializers.CharField(source="by_words")


class DeliverySerializer(CamelSerializer[Delivery]):
    """A message of a channel. Every attempt sends the same `key` to the receiver."""

    key = serializers.CharField()
    event = serializers.ChoiceField(Event.choices)
    state = serializers.ChoiceField(DeliveryState.choices)
    alert = serializers.UUIDField(source="alert_id", allow_null=True, help_text="Null for a test.")
    alert_kind = serializers.CharField(source="alert.kind", allow_null=True)
    pipeline = serializers.CharField(source="alert.pipeline.slug", allow_null=True)
    attempts = serializers.IntegerField()
    last_error = serializers.SerializerMethodField()
    made_at = serializers.DateTimeField()
    due_at = MomentMethodField(help_text="The time of the next attempt; null if there is none.")
    ended_at = serializers.DateTimeField(allow_null=True)
    sent_again = SentAgainSerializer(many=True, source="again.all")

    @extend_schema_field(DeliveryErrorSerializer(allow_null=True))
    def get_last_error(self, delivery: Delivery) -> dict[str, Any] | None:
        return DeliveryErrorSerializer(delivery).data if delivery.error_message else None

    def get_due_at(self, delivery: Delivery) -> datetime | None:
        return delivery.due_at if delivery.state == DeliveryState.PENDING else None


class _NewChannelRequest(CamelSerializer[Any]):
    """`severity` is the lowest severity to send. Without `alertKinds`, all kinds are sent."""

    name = serializers.CharField(max_length=63)
    severity = serializers.ChoiceField(Severity.choices, default=Severity.WARNING)
    alert_kinds = serializers.ListField(child=serializers.CharField(), default=list)


class ChannelKindRequest(CamelSerializer[Any]):
    def get_fields(self) -> dict[str, Any]:
        return _kind_field()


class ChannelRequest(PerKindSerializer[Any]):
    """A new channel with the fields of its kind."""

    @classmethod
    def variants(cls) -> list[type[CamelSerializer[Any]]]:
        return [cls.variant(kind) for kind in CHANNEL_KINDS.values()]

    @staticmethod
    def variant(kind: ChannelKind) -> type[CamelSerializer[Any]]:
        fields = {field.name: _wire_field(field, **_presence(field)) for field in kind.fields}
        return _variant(kind, "ChannelRequest", _NewChannelRequest, {**_kind_field(), **fields})


class _AlertsChangeRequest(CamelSerializer[Any]):
    """The fields to change. Absent fields stay unchanged."""

    severity = serializers.ChoiceField(Severity.choices, required=False)
    alert_kinds = serializers.ListField(child=serializers.CharField(), required=False)


class ChannelChangeRequest(PerKindSerializer[Any]):
    """The fields to change. Absent fields stay unchanged. `secret` is the new password or signing secret; it is
    required if the change sends messages to another destination."""

    @classmethod
    def variants(cls) -> list[type[CamelSerializer[Any]]]:
        return [cls.variant(kind) for kind in CHANNEL_KINDS.values()]

    @staticmethod
    def variant(kind: ChannelKind) -> type[CamelSerializer[Any]]:
        fields = {field.name: _wire_field(field, **_optional(field)) for field in kind.changes}
        if kind.secret:
            word = kind.secret.title.lower()
            secret = replace(kind.secret, help=f"The new {word}.")
            fields["secret"] = _wire_field(secret, required=False, allow_blank=True)
        return _variant(kind, "ChannelChangeRequest", _AlertsChangeRequest, fields)


def _presence(field: ChannelField) -> dict[str, Any]:
    return {"required": True} if field.required else _optional(field)


def _optional(field: ChannelField) -> dict[str, Any]:
    is_text = field.is_secret or field.type == "text"
    return {"required": False, **({"allow_blank": True} if is_text and not field.required else {})}
