"""The OpenAPI document. It is the same for all users, so a process renders it once for each format."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import (
    OpenApiJsonRenderer,
    OpenApiJsonRenderer2,
    OpenApiYamlRenderer,
    OpenApiYamlRenderer2,
)
from drf_spectacular.utils import extend_schema
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.views import APIView

RENDERERS = (OpenApiYamlRenderer, OpenApiYamlRenderer2, OpenApiJsonRenderer, OpenApiJsonRenderer2)


class Schema(APIView):
    permission_classes = (AllowAny,)
    renderer_classes = RENDERERS

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        renderer: Any = request.accepted_renderer
        content, etag = _rendered(RENDERERS.index(type(renderer)))
        response = HttpResponse(content, content_type=f"{renderer.media_type}; charset=utf-8")
        response.headers["Content-Disposition"] = f'inline; filename="Flow.{renderer.format}"'
        response.headers["ETag"] = etag
        return get_conditional_response(request._request, etag=etag, response=response) or response


@cache
def _rendered(renderer: int) -> tuple[bytes, str]:
    """Return the document and its ETag. `renderer` is an index of `RENDERERS`."""
    generator: Any = SchemaGenerator
    document = generator().get_schema(public=True)
    chosen: Any = RENDERERS[renderer]
    content: bytes = chosen().render(document, chosen.media_type, {})
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
