"""Files as the API takes and sends them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, OptionalTextField
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.load_units.selectors import is_to_be_loaded_again


class FileFilter(CamelSerializer[Any]):
    pipeline = serializers.CharField(required=False)
    run = serializers.UUIDField(required=False)
    state = serializers.ChoiceField(UnitState.choices, required=False)


class UploadRequest(CamelSerializer[Any]):
    folder = serializers.CharField(max_length=500, allow_blank=True, default="")
    file = serializers.FileField(required=False)


class UploadedSerializer(CamelSerializer[Any]):
    path = serializers.CharField(help_text="Where the file is, from the workspace's folder.")


class FileSerializer(CamelSerializer[LoadUnit]):
    """A file that a pipeline has seen."""

    id = serializers.UUIDField()
    pipeline = serializers.CharField(source="pipeline.slug")
    node = serializers.CharField()
    name = serializers.CharField(help_text="From the workspace's folder.")
    sha256 = serializers.CharField()
    size = serializers.IntegerField(help_text="In bytes.")
    rows = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(UnitState.choices)
    reason = OptionalTextField()
    run = serializers.UUIDField(source="run_id", allow_null=True)
    load_again = serializers.SerializerMethodField(help_text="Whether the next run loads it again.")
    load_again_reason = OptionalTextField(source="forgotten_reason")
    changed_at = serializers.DateTimeField()

    def get_load_again(self, unit: LoadUnit) -> bool:
        return is_to_be_loaded_again(unit)
