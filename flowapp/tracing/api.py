"""The API's route for "Where did my row go?"."""

from __future__ import annotations

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.pipelines.selectors import get_pipeline
from flowapp.tracing.selectors import trace_row
from flowapp.tracing.serializers import TraceRequest, TraceSerializer


class TraceRow(APIView):
    """A POST request, because the key contains row values, which must not be in a URL. It changes nothing."""

    permission_classes = (workspace_role(read=ROWS_VIEW, write=ROWS_VIEW),)

    @extend_schema(request=TraceRequest, responses=TraceSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Search the table, rejected rows and samples for a row. The response also lists what could not be searched."""
        pipeline = get_pipeline(request.workspace, slug)
        wanted = TraceRequest(data=request.data)
        wanted.is_valid(raise_exception=True)
        traces = trace_row(pipeline, wanted.validated_data["key"], wanted.validated_data["target"])
        answer = TraceSerializer({"pipeline": pipeline.slug, "targets": traces})
        return Response(answer.data, headers={"Cache-Control": "no-store"})


urlpatterns = [path("pipelines/<slug:slug>/trace/", TraceRow.as_view(), name="trace_row")]
