"""The API's routes for watermarks."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.requests import Request
from flowapp.api.bodies import Reason, read_reason
from flowapp.pipelines.selectors import get_pipeline
from flowapp.watermarks.selectors import get_watermark
from flowapp.watermarks.serializers import WatermarkRequest, WatermarkSerializer
from flowapp.watermarks.services import reset_watermark, set_watermark
from flowapp.watermarks.targets import WatermarkTarget, find_watermark_target


class Watermark(APIView):
    """The watermark of one target: where its next load begins."""

    @extend_schema(responses=WatermarkSerializer)
    def get(self, request: Request, slug: str, node: str) -> Response:
        """The watermark with its newest changes; `isLive` is false where only the copy of `seenAt` can be shown.
        `warnings` say what setting or resetting it would lead to."""
        return Response(WatermarkSerializer(get_watermark(_target(request, slug, node))).data)

    @extend_schema(request=WatermarkRequest, responses=WatermarkSerializer)
    def put(self, request: Request, slug: str, node: str) -> Response:
        """Let the next load begin at `value`. `warnings` say when that loads rows a second time."""
        target, given = _target(request, slug, node), WatermarkRequest(data=request.data)
        given.is_valid(raise_exception=True)
        watermark = set_watermark(
            target, given.validated_data["value"], given.validated_data["reason"], str(request.user)
        )
        return Response(WatermarkSerializer(watermark).data)

    @extend_schema(request=Reason, responses={200: WatermarkSerializer}, parameters=[OpenApiParameter("reason", str)])
    def delete(self, request: Request, slug: str, node: str) -> Response:
        """Let the next load begin at the highest value of the table. The reason may stand in the body or the query."""
        target, reason = _target(request, slug, node), read_reason(request, or_query=True)
        return Response(WatermarkSerializer(reset_watermark(target, reason, str(request.user))).data)


def _target(request: Request, slug: str, node: str) -> WatermarkTarget:
    return find_watermark_target(get_pipeline(request.workspace, slug), node)


urlpatterns = [path("pipelines/<str:slug>/watermarks/<str:node>/", Watermark.as_view(), name="watermark")]
