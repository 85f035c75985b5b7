"""The API's routes for runs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.roles import may_see_values
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.holds import Decider, approve_run, discard_run
from flowapp.runs.hooks import ask_for_hook
from flowapp.runs.models import Purpose, Run, State, Trigger
from flowapp.runs.purposes import PURPOSES
from flowapp.runs.selectors import NEWEST_FIRST, get_run, list_runs, run_document, run_summary
from flowapp.runs.services import QUEUES, cancel_run

OBJECT = OpenApiTypes.OBJECT


class RunWish(serializers.Serializer[Any]):
    purpose = serializers.ChoiceField([purpose.value for purpose in QUEUES], default=Purpose.LOAD)
    ifBusy = serializers.ChoiceField(["wait", "refuse"], required=False, source="if_busy")  # noqa: N815
    loadAgain = serializers.CharField(  # noqa: N815
        required=False, source="load_again", max_length=2000, help_text="The reason to load everything again."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not PURPOSES[attrs["purpose"]].loads and (extra := {"if_busy", "load_again"} & attrs.keys()):
            names = [name for name, field in self.fields.items() if field.source in extra]
            raise serializers.ValidationError(dict.fromkeys(names, "A preview waits for nothing and forgets nothing."))
        return attrs


class RunsWanted(serializers.Serializer[Any]):
    pipeline = serializers.CharField(required=False)
    state = serializers.ChoiceField(State.choices, required=False)
    trigger = serializers.ChoiceField(Trigger.choices, required=False)
    since = serializers.DateTimeField(required=False)
    until = serializers.DateTimeField(required=False)


class RunSummary(serializers.BaseSerializer[Run]):
    def to_representation(self, instance: Run) -> dict[str, Any]:
        return run_summary(instance)


class RunPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[RunsWanted], responses=OBJECT)
class Runs(ListAPIView[Run]):
    """Runs, newest first."""

    serializer_class = RunSummary
    pagination_class = RunPage

    def get_queryset(self) -> QuerySet[Run]:
        return list_runs(self.request.workspace, **read_query(self.request, RunsWanted, pipeline=get_pipeline))


class RunsOfPipeline(APIView):
    @extend_schema(request=RunWish, responses={202: OBJECT, 409: OBJECT})
    def post(self, request: Request, ident: str) -> Response:
        """Queue a run of the newest version; or a preview, which loads nothing and tells what a run would change.

        `refuse` answers 409 when a run is under way or waits.
        """
        pipeline = get_pipeline(request.workspace, ident)
        wish = RunWish(data=request.data)
        wish.is_valid(raise_exception=True)
        wanted = dict(wish.validated_data)
        run = QUEUES[wanted.pop("purpose")](pipeline, Trigger.API, user=author_of(request), **wanted)
        return Response(run_summary(run), status.HTTP_202_ACCEPTED)


class OneRun(APIView):
    @extend_schema(responses=OBJECT)
    def get(self, request: Request, run: UUID) -> Response:
        """The run as `flow run --json` prints it; the samples of a preview are null for roles that see no values."""
        sees_values = may_see_values(request.role)
        return Response(run_document(get_run(request.workspace, run), sees_values=sees_values))


class CancelRun(APIView):
    @extend_schema(request=None, responses={202: OBJECT, 409: OBJECT})
    def post(self, request: Request, run: UUID) -> Response:
        """Ask a run to end: what is queued ends at once, what runs within seconds."""
        return Response(run_summary(cancel_run(get_run(request.workspace, run))), status.HTTP_202_ACCEPTED)


class DecisionWish(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, default="", allow_blank=True, max_length=2000)


class DiscardWish(serializers.Serializer[Any]):
    reason = serializers.CharField(max_length=2000, help_text="Why what is staged is given up; it is kept.")


class ApproveRun(APIView):
    @extend_schema(request=DecisionWish, responses={202: OBJECT, 409: OBJECT})
    def post(self, request: Request, run: UUID) -> Response:
        """Let a worker load what a held run has staged. 409 for all but the first who decides."""
        found, wish = get_run(request.workspace, run), DecisionWish(data=request.data)
        wish.is_valid(raise_exception=True)
        approved = approve_run(found, decider_of(request), **wish.validated_data)
        return Response(run_document(approved, sees_values=may_see_values(request.role)), status.HTTP_202_ACCEPTED)


class DiscardRun(APIView):
    @extend_schema(request=DiscardWish, responses={200: OBJECT, 409: OBJECT})
    def post(self, request: Request, run: UUID) -> Response:
        """Give up what a held run has staged. 409 for all but the first who decides."""
        found, wish = get_run(request.workspace, run), DiscardWish(data=request.data)
        wish.is_valid(raise_exception=True)
        discarded = discard_run(found, decider_of(request), **wish.validated_data)
        return Response(run_document(discarded, sees_values=may_see_values(request.role)))


def decider_of(request: Request) -> Decider:
    """A token decides under its own name, on behalf of whoever made it."""
    return Decider(str(request.user), author_of(request))


class RunHookAgain(APIView):
    @extend_schema(request=None, responses={202: OBJECT, 409: OBJECT})
    def post(self, request: Request, run: UUID, hook: str) -> Response:
        """Let a worker run a post-hook again that failed or was not run. The load is not repeated."""
        return Response(ask_for_hook(get_run(request.workspace, run), hook), status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("pipelines/<slug:ident>/runs/", RunsOfPipeline.as_view(), name="pipeline_runs"),
    path("runs/", Runs.as_view(), name="runs"),
    path("runs/<uuid:run>/", OneRun.as_view(), name="run"),
    path("runs/<uuid:run>/cancel/", CancelRun.as_view(), name="cancel_run"),
    path("runs/<uuid:run>/hooks/<str:hook>/", RunHookAgain.as_view(), name="run_hook"),
    path("runs/<uuid:run>/approve/", ApproveRun.as_view(), name="approve_run"),
    path("runs/<uuid:run>/discard/", DiscardRun.as_view(), name="discard_run"),
]
