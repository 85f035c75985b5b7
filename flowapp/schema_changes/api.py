"""API routes for changes of columns."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.models import User
from flowapp.accounts.requests import Request
from flowapp.api.bodies import Reason, read_reason
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from flowapp.schema_changes.models import ColumnChange
from flowapp.schema_changes.selectors import NEWEST_FIRST, get_change, list_changes
from flowapp.schema_changes.serializers import Acceptance, ChangeFilter, ColumnChangeSerializer
from flowapp.schema_changes.services import accept_changes, reject_changes


class ChangePage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[ChangeFilter])
class SchemaChanges(ListAPIView[ColumnChange]):
    """The changes of columns of sources, newest first."""

    request: Request
    serializer_class = ColumnChangeSerializer
    pagination_class = ChangePage

    def get_queryset(self) -> QuerySet[ColumnChange]:
        return list_changes(self.request.workspace, **read_query(self.request, ChangeFilter, pipeline=get_pipeline))


class AcceptChange(APIView):
    @extend_schema(request=Acceptance, responses=ColumnChangeSerializer)
    def post(self, request: Request, change: UUID) -> Response:
        """Let the next load follow the change; with `run`, queue that load."""
        found, given = get_change(request.workspace, change), Acceptance(data=request.data)
        given.is_valid(raise_exception=True)
        user = _user(request)
        with transaction.atomic():
            accept_changes([found], str(request.user), user=user, reason=given.validated_data["reason"])
            if given.validated_data["run"]:
                queue_run(found.pipeline, Trigger.API, user=user)
        return Response(ColumnChangeSerializer(get_change(request.workspace, change)).data)


class RejectChange(APIView):
    @extend_schema(request=Reason, responses=ColumnChangeSerializer)
    def post(self, request: Request, change: UUID) -> Response:
        """Keep refusing loads with the change."""
        found = get_change(request.workspace, change)
        reject_changes([found], str(request.user), user=_user(request), reason=read_reason(request))
        return Response(ColumnChangeSerializer(get_change(request.workspace, change)).data)


def _user(request: Request) -> User | None:
    return request.user if isinstance(request.user, User) else None


urlpatterns = [
    path("schema-changes/", SchemaChanges.as_view(), name="schema_changes"),
    path("schema-changes/<uuid:change>/accept/", AcceptChange.as_view(), name="accept_schema_change"),
    path("schema-changes/<uuid:change>/reject/", RejectChange.as_view(), name="reject_schema_change"),
]
