"""How the OpenAPI document calls what drf-spectacular does not know by itself."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from rest_framework.serializers import BaseSerializer, ListSerializer, Serializer


class DocumentSerializer(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Serializers without fields: they give the documents that the command line gives too."""

    target_class = BaseSerializer

    @classmethod
    def _matches(cls, target: Any) -> bool:
        return isinstance(target, BaseSerializer) and not isinstance(target, (Serializer, ListSerializer))

    def get_name(self, auto_schema: Any, direction: Any) -> str:
        return "Document"

    def map_serializer(self, auto_schema: Any, direction: Any) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {}}
