"""API routes for streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.requests import Request
from flowapp.api.bodies import Reason, read_reason
from flowapp.api.serializers import ProblemSerializer, represent_all
from flowapp.runs.models import Trigger
from flowapp.streams.models import Stream, StreamHour
from flowapp.streams.selectors import get_stream, list_streams, view_all, view_of
from flowapp.streams.serializers import StreamHourSerializer, StreamReason, StreamSerializer
from flowapp.streams.services import pause_stream, resnapshot, resume_stream
from flowapp.streams.watching import drop_slot

MOST_HOURS = 24 * 90


class Streams(APIView):
    @extend_schema(responses=StreamSerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the streams of the workspace."""
        return Response(represent_all(StreamSerializer, view_all(list_streams(request.workspace))))


class OneStream(APIView):
    @extend_schema(responses=StreamSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the stream of a pipeline: its state, its lag and its slot."""
        return _shown(get_stream(request.workspace, slug), status.HTTP_200_OK)


class StreamHours(APIView):
    @extend_schema(responses=StreamHourSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the counts of a stream by the hour, newest first."""
        hours = StreamHour.objects.filter(stream=get_stream(request.workspace, slug)).order_by("-hour")
        return Response(represent_all(StreamHourSerializer, hours[:MOST_HOURS]))


class PauseStream(APIView):
    @extend_schema(request=StreamReason, responses={202: StreamSerializer, 409: ProblemSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Pause a stream. The window that is being loaded ends first."""
        return _changed(request, slug, lambda stream, by, reason: pause_stream(stream, by, reason))


class ResumeStream(APIView):
    @extend_schema(request=StreamReason, responses={202: StreamSerializer, 409: ProblemSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Let a paused or stopped stream run again."""
        user = author_of(request)
        return _changed(request, slug, lambda stream, by, reason: resume_stream(stream, by, reason, user))


class ResnapshotStream(APIView):
    @extend_schema(request=Reason, responses={202: StreamSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Load all rows of the source again, in one transaction that replaces the rows of the target."""
        stream = get_stream(request.workspace, slug)
        resnapshot(stream, str(request.user), read_reason(request), Trigger.API, author_of(request))
        return _shown(stream, status.HTTP_202_ACCEPTED)


class DropSlot(APIView):
    @extend_schema(request=Reason, responses={200: StreamSerializer, 409: ProblemSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Drop the replication slot of a stream that does not run, so that its server can remove the log."""
        stream = get_stream(request.workspace, slug)
        drop_slot(stream, str(request.user), read_reason(request))
        return _shown(stream, status.HTTP_200_OK)


def _changed(request: Request, slug: str, change: Callable[[Stream, str, str], Any]) -> Response:
    stream, given = get_stream(request.workspace, slug), StreamReason(data=request.data)
    given.is_valid(raise_exception=True)
    change(stream, str(request.user), given.validated_data["reason"])
    return _shown(stream, status.HTTP_202_ACCEPTED)


def _shown(stream: Stream, code: int) -> Response:
    return Response(StreamSerializer(view_of(stream)).data, code)


urlpatterns = [
    path("streams/", Streams.as_view(), name="streams"),
    path("streams/<slug:slug>/", OneStream.as_view(), name="stream"),
    path("streams/<slug:slug>/hours/", StreamHours.as_view(), name="stream_hours"),
    path("streams/<slug:slug>/pause/", PauseStream.as_view(), name="pause_stream"),
    path("streams/<slug:slug>/resume/", ResumeStream.as_view(), name="resume_stream"),
    path("streams/<slug:slug>/resnapshot/", ResnapshotStream.as_view(), name="resnapshot_stream"),
    path("streams/<slug:slug>/slot/drop/", DropSlot.as_view(), name="drop_slot"),
]
