"""Modules in API requests and responses, and in command output."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from flowapp.api.serializers import CamelSerializer, WholeListSerializer
from flowapp.modules.models import CustomModule


class ModuleSerializer(CamelSerializer[CustomModule]):
    ref = serializers.CharField(help_text="How documents name it: name, @sha256: and the hash of its bytes.")
    name = serializers.CharField()
    sha256 = serializers.CharField()
    kind = serializers.CharField(help_text="`module` or `component`.")
    size = serializers.IntegerField(help_text="In bytes.")
    imports = serializers.ListField(child=serializers.CharField(), help_text="The functions that it imports.")
    may_use = serializers.ListField(
        child=serializers.CharField(), help_text="The kinds of access that its imports could use."
    )
    granted = serializers.ListField(child=serializers.CharField(), help_text="The kinds of access that it may use.")
    added_by = serializers.CharField()
    added_at = serializers.DateTimeField()


class ModuleListSerializer(WholeListSerializer):
    results = ModuleSerializer(many=True)


class ModuleRequest(serializers.Serializer[Any]):
    """A form with a file."""

    name = serializers.CharField(max_length=63)
    file = serializers.FileField(help_text="The bytes of the WebAssembly module or component.")
    grant = serializers.CharField(
        required=False, default="", allow_blank=True, help_text="Kinds of access, separated by commas."
    )
