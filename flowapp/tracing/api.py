"""The API's route for "Where did my row go?"."""

from __future__ import annotations

from typing import Any

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.pipelines.selectors import get_pipeline
from flowapp.tracing.selectors import trace_document, trace_row


class RowWanted(serializers.Serializer[Any]):
    """`key` has the values by column of the target, as the database writes them."""

    key = serializers.DictField(child=serializers.CharField(trim_whitespace=False, max_length=1000))
    target = serializers.CharField(default="", max_length=63)


class TraceRow(APIView):
    """A POST, for its values are a row's, and no address may hold them. It changes nothing."""

    permission_classes = (workspace_role(read=ROWS_VIEW, write=ROWS_VIEW),)

    @extend_schema(request=RowWanted, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, ident: str) -> Response:
        """Where a row went: the table, rejected rows and samples, and what could not be searched."""
        pipeline = get_pipeline(request.workspace, ident)
        wanted = RowWanted(data=request.data)
        wanted.is_valid(raise_exception=True)
        traces = trace_row(pipeline, wanted.validated_data["key"], wanted.validated_data["target"])
        answer = {"pipeline": pipeline.ident, "targets": trace_document(traces)}
        return Response(answer, headers={"Cache-Control": "no-store"})


urlpatterns = [path("pipelines/<slug:ident>/trace/", TraceRow.as_view(), name="trace_row")]
