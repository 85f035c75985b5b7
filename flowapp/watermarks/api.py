"""API routes for watermarks."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.requests import Request
from flowapp.api.bodies import Reason, read_reason
from flowapp.api.openapi import if_match
from flowapp.api.serializers import represent_all
from flowapp.pipelines.selectors import get_pipeline
from flowapp.watermarks.selectors import get_watermark, plan_next_run
from flowapp.watermarks.serializers import (
    WatermarkCheckRequest,
    WatermarkCheckSerializer,
    WatermarkRequest,
    WatermarkSerializer,
)
from flowapp.watermarks.services import reset_watermark, set_watermark
from flowapp.watermarks.targets import WatermarkTarget, find_watermark_target, list_watermark_targets

IF_MATCH = if_match("The `revision` of the watermark that the decision was based on.", required=False)


class Watermark(APIView):
    """The watermark of one target: where its next load begins."""

    @extend_schema(responses=WatermarkSerializer)
    def get(self, request: Request, slug: str, node: str) -> Response:
        """Return the watermark with its newest changes. `isLive` is false if only the copy of `seenAt` is available.
        `nextRun` says what the next run does, `warnings` the consequences of setting or resetting the watermark."""
        return Response(WatermarkSerializer(get_watermark(_target(request, slug, node))).data)

    @extend_schema(request=WatermarkRequest, responses=WatermarkSerializer, parameters=[IF_MATCH])
    def put(self, request: Request, slug: str, node: str) -> Response:
        """Make the next load begin at `value`. `warnings` say if that loads rows a second time. 412 if the watermark
        has another revision than that of `If-Match`."""
        target, given = _target(request, slug, node), WatermarkRequest(data=request.data)
        given.is_valid(raise_exception=True)
        value, reason = given.validated_data["value"], given.validated_data["reason"]
        watermark = set_watermark(target, value, reason, str(request.user), revision=_revision(request))
        return Response(WatermarkSerializer(watermark).data)

    @extend_schema(
        request=Reason,
        responses={200: WatermarkSerializer},
        parameters=[OpenApiParameter("reason", str), IF_MATCH],
    )
    def delete(self, request: Request, slug: str, node: str) -> Response:
        """Make the next load begin at the highest value of the table. The reason may be in the body or in the query.
        412 if the watermark has another revision than that of `If-Match`."""
        target, reason = _target(request, slug, node), read_reason(request, or_query=True)
        watermark = reset_watermark(target, reason, str(request.user), revision=_revision(request))
        return Response(WatermarkSerializer(watermark).data)


class Watermarks(APIView):
    """The watermarks of all targets of a pipeline."""

    @extend_schema(responses=WatermarkSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Return the watermark of each target that has one."""
        targets = list_watermark_targets(get_pipeline(request.workspace, slug))
        return Response(represent_all(WatermarkSerializer, map(get_watermark, targets)))


class WatermarkCheck(APIView):
    """The effect of a change of a watermark."""

    @extend_schema(request=WatermarkCheckRequest, responses=WatermarkCheckSerializer)
    def post(self, request: Request, slug: str, node: str) -> Response:
        """Say what the next run would do if the watermark were `value`, or reset. Changes nothing."""
        target, given = _target(request, slug, node), WatermarkCheckRequest(data=request.data)
        given.is_valid(raise_exception=True)
        value = given.validated_data["value"]
        next_run = plan_next_run(target, value, resets=value is None)
        found = {"next_run": next_run, "warnings": get_watermark(target).warnings}
        return Response(WatermarkCheckSerializer(found).data)


def _revision(request: Request) -> str | None:
    given = request.headers.get("If-Match", "*").strip()
    return None if given == "*" else given.strip('"')


def _target(request: Request, slug: str, node: str) -> WatermarkTarget:
    return find_watermark_target(get_pipeline(request.workspace, slug), node)


urlpatterns = [
    path("pipelines/<str:slug>/watermarks/", Watermarks.as_view(), name="watermarks"),
    path("pipelines/<str:slug>/watermarks/<str:node>/", Watermark.as_view(), name="watermark"),
    path("pipelines/<str:slug>/watermarks/<str:node>/check/", WatermarkCheck.as_view(), name="watermark_check"),
]
