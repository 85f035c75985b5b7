"""The API's routes for suggestions. All of them show values of rows, or lead to them."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.pipelines import drafts
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.suggestions.drafted import draft_to_sample
from flowapp.suggestions.selectors import (
    list_proposals,
    list_samples,
    node_of,
    proposal_document,
    read_rule,
    sample_document,
    target_of,
    trial_document,
    try_on_samples,
)
from flowapp.suggestions.services import accept, take_sample

OBJECT = OpenApiTypes.OBJECT
SEES_ROWS = (workspace_role(read=ROWS_VIEW, write=ROWS_VIEW),)


class SampleWanted(serializers.Serializer[Any]):
    node = serializers.CharField(default="", allow_blank=True)


class Accepted(serializers.Serializer[Any]):
    """`spec` is a row rule, or with `check` a dataset check of that kind."""

    spec = serializers.DictField()
    check = serializers.CharField(default="", allow_blank=True)


class RuleToTry(serializers.Serializer[Any]):
    rule = serializers.DictField()


def _view(request: Request, ident: str) -> DraftView:
    return drafts.view_draft(drafts.open_draft(get_pipeline(request.workspace, ident), author_of(request)))


class TakeSample(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(request=SampleWanted, responses={202: OBJECT})
    def post(self, request: Request, ident: str) -> Response:
        """Look at some rows of the pipeline's source: `{"run"}`, the run that does it. With a validate `node` it is the
        source of your draft, else that of the newest version."""
        given = SampleWanted(data=request.data)
        given.is_valid(raise_exception=True)
        node, pipeline = given.validated_data["node"], get_pipeline(request.workspace, ident)
        document = draft_to_sample(_view(request, ident), node) if node else ""
        run = take_sample(pipeline, Trigger.API, user=author_of(request), draft_document=document)
        return Response({"run": str(run.pk)}, status.HTTP_202_ACCEPTED)


class Suggestions(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(responses=OBJECT)
    def get(self, request: Request, ident: str, node: str) -> Response:
        """Rules and checks that the newest sample speaks for, and that the draft's node does not hold yet."""
        view = _view(request, ident)
        samples = list_samples(view.draft.pipeline, target_of(view, node))
        proposals = list_proposals(samples, node_of(view, node))
        answer = {
            "samples": [sample_document(sample) for sample in samples],
            "results": [proposal_document(proposal) for proposal in proposals],
        }
        return Response(answer, headers={"Cache-Control": "no-store"})

    @extend_schema(request=Accepted, responses=OBJECT)
    def post(self, request: Request, ident: str, node: str) -> Response:
        """Take one into the draft; answers the draft's position."""
        draft = drafts.open_draft(get_pipeline(request.workspace, ident), author_of(request))
        given = Accepted(data=request.data)
        given.is_valid(raise_exception=True)
        changed = accept(draft, node, given.validated_data["spec"], given.validated_data["check"])
        return Response({"position": changed.position})


class Backtest(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(request=RuleToTry, responses=OBJECT)
    def post(self, request: Request, ident: str, node: str) -> Response:
        """How many rows of each kept sample a rule would have hit, with examples. It changes nothing."""
        view = _view(request, ident)
        target = target_of(view, node)
        given = RuleToTry(data=request.data)
        given.is_valid(raise_exception=True)
        rule = read_rule(given.validated_data["rule"])
        tried = try_on_samples(rule, list_samples(view.draft.pipeline, target), target)
        answer = {"results": [trial_document(one) for one in tried]}
        return Response(answer, headers={"Cache-Control": "no-store"})


urlpatterns = [
    path("pipelines/<slug:ident>/sample/", TakeSample.as_view(), name="take_sample"),
    path("pipelines/<slug:ident>/suggestions/<str:node>/", Suggestions.as_view(), name="suggestions"),
    path("pipelines/<slug:ident>/backtest/<str:node>/", Backtest.as_view(), name="backtest"),
]
