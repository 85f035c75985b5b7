"""API routes for suggestions. They return values of rows."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.api.serializers import QueuedRunSerializer
from flowapp.pipelines import drafts
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.suggestions.drafted import draft_to_sample
from flowapp.suggestions.selectors import (
    list_proposals,
    list_samples,
    node_of,
    read_rule,
    target_of,
    try_on_samples,
)
from flowapp.suggestions.serializers import (
    AcceptRequest,
    BacktestRequest,
    PositionSerializer,
    SampleRequest,
    SuggestionsSerializer,
    TrialsSerializer,
)
from flowapp.suggestions.services import accept, take_sample

SEES_ROWS = (workspace_role(read=ROWS_VIEW, write=ROWS_VIEW),)


def _view(request: Request, slug: str) -> DraftView:
    return drafts.view_draft(drafts.open_draft(get_pipeline(request.workspace, slug), author_of(request)))


class TakeSample(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(request=SampleRequest, responses={202: QueuedRunSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Queue a run that samples the source of the pipeline: with a validate `node` the source of your draft, else
        that of the newest version."""
        given = SampleRequest(data=request.data)
        given.is_valid(raise_exception=True)
        node, pipeline = given.validated_data["node"], get_pipeline(request.workspace, slug)
        document = draft_to_sample(_view(request, slug), node) if node else ""
        run = take_sample(pipeline, Trigger.API, user=author_of(request), draft_document=document)
        return Response(QueuedRunSerializer(run).data, status.HTTP_202_ACCEPTED)


class Suggestions(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(responses=SuggestionsSerializer)
    def get(self, request: Request, slug: str, node: str) -> Response:
        """List rules and checks that the newest sample suggests and the node of the draft does not have yet."""
        view = _view(request, slug)
        samples = list_samples(view.draft.pipeline, target_of(view, node))
        proposals = list_proposals(samples, node_of(view, node))
        answer = SuggestionsSerializer({"samples": samples, "results": proposals})
        return Response(answer.data, headers={"Cache-Control": "no-store"})

    @extend_schema(request=AcceptRequest, responses=PositionSerializer)
    def post(self, request: Request, slug: str, node: str) -> Response:
        """Add one to the draft; the response has the draft's position."""
        draft = drafts.open_draft(get_pipeline(request.workspace, slug), author_of(request))
        given = AcceptRequest(data=request.data)
        given.is_valid(raise_exception=True)
        changed = accept(draft, node, given.validated_data["spec"], given.validated_data["check"])
        return Response(PositionSerializer(changed).data)


class Backtest(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(request=BacktestRequest, responses=TrialsSerializer)
    def post(self, request: Request, slug: str, node: str) -> Response:
        """Count the rows of each stored sample that would have failed a rule, with examples. It changes nothing."""
        view = _view(request, slug)
        target = target_of(view, node)
        given = BacktestRequest(data=request.data)
        given.is_valid(raise_exception=True)
        rule = read_rule(given.validated_data["rule"])
        tried = try_on_samples(rule, list_samples(view.draft.pipeline, target), target)
        answer = TrialsSerializer({"results": tried})
        return Response(answer.data, headers={"Cache-Control": "no-store"})


urlpatterns = [
    path("pipelines/<slug:slug>/sample/", TakeSample.as_view(), name="take_sample"),
    path("pipelines/<slug:slug>/suggestions/<str:node>/", Suggestions.as_view(), name="suggestions"),
    path("pipelines/<slug:slug>/backtest/<str:node>/", Backtest.as_view(), name="backtest"),
]
