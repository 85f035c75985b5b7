"""Backups in API responses and command output."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, MomentMethodField
from flowapp.backups.models import Backup, Restore
from flowapp.backups.selectors import expires_at
from flowapp.runs.models import State


class BackupFilter(CamelSerializer[Any]):
    pipeline = serializers.CharField(required=False)
    run = serializers.UUIDField(required=False)


class RestoreSerializer(CamelSerializer[Restore]):
    run = serializers.UUIDField(source="run_id")
    state = serializers.ChoiceField(State.choices, source="run.state")
    reason = serializers.CharField()


class BackupSerializer(CamelSerializer[Backup]):
    """The backup of a target before a load."""

    id = serializers.UUIDField()
    pipeline = serializers.CharField(source="pipeline.slug")
    run = serializers.UUIDField(source="run_id", help_text="The run before whose load the backup was taken.")
    node = serializers.CharField()
    schema = serializers.CharField()
    table = serializers.CharField()
    rows = serializers.IntegerField()
    taken_at = serializers.DateTimeField()
    expires_at = MomentMethodField()
    dropped_at = serializers.DateTimeField(allow_null=True)
    restores = RestoreSerializer(many=True, source="restores.all")

    def get_expires_at(self, backup: Backup) -> datetime:
        return expires_at(backup)
