"""The state of Flow's parts in API responses."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer


class HealthPartSerializer(CamelSerializer[Any]):
    status = serializers.ChoiceField(["ok", "down", "unknown"])
    detail = serializers.CharField(help_text="A description for people.")
    alive = serializers.IntegerField(required=False, help_text="The number of processes with a recent heartbeat.")


class HealthSerializer(CamelSerializer[Any]):
    database = HealthPartSerializer()
    broker = HealthPartSerializer()
    workers = HealthPartSerializer()
    scheduler = HealthPartSerializer()
    spark = HealthPartSerializer()
    streams = HealthPartSerializer(required=False, help_text="Workers for streams, where streams are on.")
