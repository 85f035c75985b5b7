"""Extend the OpenAPI document with what drf-spectacular cannot derive."""

from __future__ import annotations

from typing import Any, Literal

from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import Serializer

from flowapp.api import headers
from flowapp.api.serializers import ProblemSerializer
from flowapp.web.problems import CONTENT_TYPE

Direction = Literal["request", "response"]

ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, response=[200, 201], description="The number to send as `If-Match`, quoted."
)


def if_match(what: str, *, required: bool) -> OpenApiParameter:
    """Describe the If-Match header; `what` names the number that it carries."""
    return OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, required=required, description=what)


class FlowAutoSchema(AutoSchema):
    """Add problem responses and the workspace header for sessions to every operation."""

    def get_override_parameters(self) -> list[OpenApiParameter | Serializer[Any] | type[Serializer[Any]]]:
        text = "The workspace's slug. A token has a workspace of its own and needs none."
        return [OpenApiParameter(headers.WORKSPACE, str, OpenApiParameter.HEADER, description=text)]

    def _get_response_bodies(self, direction: Direction = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        problems = {code: self._get_response_for_code(ProblemSerializer, code) for code in ("4XX", "5XX")}
        return bodies | problems

    def _get_response_for_code(
        self, serializer: Any, status_code: str, media_types: list[str] | None = None, direction: Direction = "response"
    ) -> Any:
        if isinstance(serializer, type) and issubclass(serializer, ProblemSerializer):
            media_types = [CONTENT_TYPE]
        return super()._get_response_for_code(serializer, status_code, media_types, direction)  # type: ignore[no-untyped-call]  # of drf-spectacular


class FreeFormField(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    """Describe free-form fields, each as a component of its own."""

    target_class = "flowapp.api.serializers.FreeForm"
    match_subclasses = True

    def get_name(self) -> str:
        return str(self.target.schema_name)

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        return dict(self.target.schema)


class PipelineDocument(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    target_class = "flowapp.api.serializers.PipelineDocumentSerializer"

    def get_name(self, auto_schema: Any, direction: str) -> str:
        return "PipelineDocument"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        return dict(self.target.schema)


class PerKind(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    """Describe objects of several kinds as one of the components of their kinds."""

    target_class = "flowapp.api.serializers.PerKindSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        made = [auto_schema.resolve_serializer(variant, direction) for variant in self.target.variants()]
        return {"anyOf": [component.ref for component in made], "description": self.target.__doc__}
