"""API routes for backfills."""

from __future__ import annotations

from collections.abc import Callable

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.requests import Request
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.api.serializers import ProblemSerializer
from flowapp.backfills.models import Backfill, Chunk
from flowapp.backfills.progress import get_progress, status_document
from flowapp.backfills.selectors import list_chunks
from flowapp.backfills.serializers import (
    BackfillReason,
    BackfillStatusSerializer,
    ChunkFilter,
    ChunkSerializer,
    RetryRequest,
    RewindRequest,
)
from flowapp.backfills.services import Actor, load_outdated_again, pause, resume, retry_failed, rewind
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger

RESPONSES = {202: BackfillStatusSerializer, 409: ProblemSerializer}


class PipelineStatus(APIView):
    @extend_schema(responses=BackfillStatusSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the phase of a pipeline and the progress of its backfill."""
        return _status(get_pipeline(request.workspace, slug), status.HTTP_200_OK)


class PauseBackfill(APIView):
    @extend_schema(request=BackfillReason, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Start no more chunks. Those that are running finish."""
        return _act(request, slug, pause)


class ResumeBackfill(APIView):
    @extend_schema(request=BackfillReason, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Go on with a paused backfill."""
        return _act(request, slug, resume)


class RetryBackfill(APIView):
    @extend_schema(request=RetryRequest, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Load the failed chunks again, or those that were loaded with another version of the pipeline."""
        given = RetryRequest(data=request.data)
        given.is_valid(raise_exception=True)
        return _act(request, slug, load_outdated_again if given.validated_data["outdated"] else retry_failed)


class RewindBackfill(APIView):
    @extend_schema(request=RewindRequest, responses=RESPONSES)
    def post(self, request: Request, slug: str) -> Response:
        """Load the range [`from`, `to`) of the history again. Without both, the whole history is planned again. The
        table of a target with a watermark must then be empty."""
        pipeline, given = get_pipeline(request.workspace, slug), RewindRequest(data=request.data)
        given.is_valid(raise_exception=True)
        values = given.validated_data
        rewind(pipeline, values["from"], values["to"], _actor(request), values["reason"])
        return _status(pipeline, status.HTTP_202_ACCEPTED)


class ChunkPage(FlowCursorPagination):
    ordering = ("ordinal", "id")


@extend_schema(parameters=[ChunkFilter])
class BackfillChunks(ListAPIView[Chunk]):
    """The chunks of the newest backfill of a pipeline, in their order."""

    request: Request
    serializer_class = ChunkSerializer
    pagination_class = ChunkPage

    def get_queryset(self) -> QuerySet[Chunk]:
        return list_chunks(
            get_pipeline(self.request.workspace, self.kwargs["slug"]), **read_query(self.request, ChunkFilter)
        )


def _act(request: Request, slug: str, act: Callable[[Pipeline, Actor, str], Backfill]) -> Response:
    pipeline, given = get_pipeline(request.workspace, slug), BackfillReason(data=request.data)
    given.is_valid(raise_exception=True)
    act(pipeline, _actor(request), given.validated_data["reason"])
    return _status(pipeline, status.HTTP_202_ACCEPTED)


def _actor(request: Request) -> Actor:
    return Actor(str(request.user), Trigger.API, author_of(request))


def _status(pipeline: Pipeline, code: int) -> Response:
    return Response(BackfillStatusSerializer(status_document(get_progress(pipeline))).data, code)


urlpatterns = [
    path("pipelines/<slug:slug>/status/", PipelineStatus.as_view(), name="pipeline_status"),
    path("pipelines/<slug:slug>/backfill/chunks/", BackfillChunks.as_view(), name="backfill_chunks"),
    path("pipelines/<slug:slug>/backfill/pause/", PauseBackfill.as_view(), name="pause_backfill"),
    path("pipelines/<slug:slug>/backfill/resume/", ResumeBackfill.as_view(), name="resume_backfill"),
    path("pipelines/<slug:slug>/backfill/retry/", RetryBackfill.as_view(), name="retry_backfill"),
    path("pipelines/<slug:slug>/backfill/rewind/", RewindBackfill.as_view(), name="rewind_backfill"),
]
