"""API routes for runs."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import may_see_values
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.api.serializers import ProblemSerializer
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.holds import Decider, approve_run, discard_run
from flowapp.runs.hooks import ask_for_hook
from flowapp.runs.models import Run, Trigger
from flowapp.runs.selectors import NEWEST_FIRST, get_run, list_runs
from flowapp.runs.serializers import (
    ApproveRequest,
    DiscardRequest,
    HookSerializer,
    RunFilter,
    RunRequest,
    RunSerializer,
    RunSummarySerializer,
    run_json,
)
from flowapp.runs.services import QUEUES, cancel_run, retry_missing


class RunPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[RunFilter])
class Runs(ListAPIView[Run]):
    """Runs, newest first."""

    request: Request
    serializer_class = RunSummarySerializer
    pagination_class = RunPage

    def get_queryset(self) -> QuerySet[Run]:
        return list_runs(self.request.workspace, **read_query(self.request, RunFilter, pipeline=get_pipeline))


class RunsOfPipeline(APIView):
    @extend_schema(request=RunRequest, responses={202: RunSummarySerializer, 409: ProblemSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Queue a run of the newest version, or a preview, which loads nothing and returns what a run would change.

        `refuse` returns 409 if a run of the pipeline is running or queued."""
        pipeline = get_pipeline(request.workspace, slug)
        body = RunRequest(data=request.data)
        body.is_valid(raise_exception=True)
        wanted = dict(body.validated_data)
        run = QUEUES[wanted.pop("kind")](pipeline, Trigger.API, user=author_of(request), **wanted)
        return Response(RunSummarySerializer(run).data, status.HTTP_202_ACCEPTED)


class OneRun(APIView):
    @extend_schema(responses=RunSerializer)
    def get(self, request: Request, run: UUID) -> Response:
        """Return the run as `flow run --json` prints it. The samples of a preview are null for roles that see no
        values."""
        return Response(run_json(get_run(request.workspace, run), sees_values=may_see_values(request.role)))


class CancelRun(APIView):
    @extend_schema(request=None, responses={202: RunSummarySerializer, 409: ProblemSerializer})
    def post(self, request: Request, run: UUID) -> Response:
        """Cancel a run. A queued run ends at once, a running one within seconds."""
        cancelled = cancel_run(get_run(request.workspace, run))
        return Response(RunSummarySerializer(cancelled).data, status.HTTP_202_ACCEPTED)


class RetryRun(APIView):
    @extend_schema(request=None, responses={202: RunSummarySerializer, 409: ProblemSerializer})
    def post(self, request: Request, run: UUID) -> Response:
        """Queue a run that loads the missing targets of a partially loaded run. 409 if it has been retried already."""
        retry = retry_missing(get_run(request.workspace, run), Trigger.API, user=author_of(request))
        return Response(RunSummarySerializer(retry).data, status.HTTP_202_ACCEPTED)


class ApproveRun(APIView):
    @extend_schema(request=ApproveRequest, responses={202: RunSerializer, 409: ProblemSerializer})
    def post(self, request: Request, run: UUID) -> Response:
        """Approve a held run, so that a worker loads its staged rows. 409 if it has been decided already."""
        found, body = get_run(request.workspace, run), ApproveRequest(data=request.data)
        body.is_valid(raise_exception=True)
        approved = approve_run(found, decider_of(request), **body.validated_data)
        return Response(run_json(approved, sees_values=may_see_values(request.role)), status.HTTP_202_ACCEPTED)


class DiscardRun(APIView):
    @extend_schema(request=DiscardRequest, responses={200: RunSerializer, 409: ProblemSerializer})
    def post(self, request: Request, run: UUID) -> Response:
        """Reject a held run and delete its staged rows. 409 if it has been decided already."""
        found, body = get_run(request.workspace, run), DiscardRequest(data=request.data)
        body.is_valid(raise_exception=True)
        discarded = discard_run(found, decider_of(request), **body.validated_data)
        return Response(run_json(discarded, sees_values=may_see_values(request.role)))


def decider_of(request: Request) -> Decider:
    """Return the person who decides. A token decides under its own name, on behalf of its creator."""
    return Decider(str(request.user), author_of(request))


class RunHookAgain(APIView):
    @extend_schema(request=None, responses={202: HookSerializer, 409: ProblemSerializer})
    def post(self, request: Request, run: UUID, hook: str) -> Response:
        """Queue a post-hook that failed or was not run. The load is not repeated."""
        hook_run = ask_for_hook(get_run(request.workspace, run), hook)
        return Response(HookSerializer(hook_run.to_json()).data, status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("pipelines/<slug:slug>/runs/", RunsOfPipeline.as_view(), name="pipeline_runs"),
    path("runs/", Runs.as_view(), name="runs"),
    path("runs/<uuid:run>/", OneRun.as_view(), name="run"),
    path("runs/<uuid:run>/cancel/", CancelRun.as_view(), name="cancel_run"),
    path("runs/<uuid:run>/retry/", RetryRun.as_view(), name="retry_run"),
    path("runs/<uuid:run>/hooks/<str:hook>/", RunHookAgain.as_view(), name="run_hook"),
    path("runs/<uuid:run>/approve/", ApproveRun.as_view(), name="approve_run"),
    path("runs/<uuid:run>/discard/", DiscardRun.as_view(), name="discard_run"),
]
