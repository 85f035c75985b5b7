"""Triggers in API responses and command output."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.urls import reverse
from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, TextField
from flowapp.triggers.models import EventTrigger, IfBusy


class TriggerSerializer(CamelSerializer[EventTrigger]):
    id = serializers.UUIDField()
    pipeline = serializers.CharField(source="pipeline.slug")
    name = serializers.CharField()
    url = serializers.SerializerMethodField(help_text="The URL for signed calls.")
    if_busy = serializers.ChoiceField(IfBusy.values)
    created_at = serializers.DateTimeField()
    rotated_at = serializers.DateTimeField(allow_null=True, help_text="When the secret was last replaced.")
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="The newest accepted call.")

    def get_url(self, trigger: EventTrigger) -> str:
        return url_of(trigger)


class TriggerWithSecretSerializer(TriggerSerializer):
    secret = serializers.SerializerMethodField(help_text="Only this response contains it.")

    def get_secret(self, trigger: EventTrigger) -> str:
        return str(self.context["secret"])


class TriggerRequest(CamelSerializer[Any]):
    name = TextField(max_length=63)
    if_busy = serializers.ChoiceField(
        IfBusy.values,
        default=IfBusy.WAIT,
        help_text="`wait` queues a run or returns the queued one; `refuse` returns 409.",
    )


class TriggeredRunSerializer(CamelSerializer[Any]):
    run = serializers.UUIDField(source="run.pk")
    name = serializers.CharField(source="run.name", help_text="Such as orders/12.")
    is_new = serializers.BooleanField(
        help_text="False if a run was queued already, or if this call was answered before."
    )


def url_of(trigger: EventTrigger) -> str:
    return f"{settings.FLOW_PUBLIC_URL.rstrip('/')}{reverse('api:trigger_call', args=[trigger.pk])}"
