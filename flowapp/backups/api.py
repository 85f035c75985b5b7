"""API routes for backups."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import ListAPIView
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.models import User
from flowapp.accounts.requests import Request
from flowapp.api.bodies import Reason, read_reason
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.api.serializers import QueuedRunSerializer
from flowapp.backups.models import Backup
from flowapp.backups.selectors import NEWEST_FIRST, get_backup, list_backups
from flowapp.backups.serializers import BackupFilter, BackupSerializer
from flowapp.backups.services import restore_backup
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.runs.selectors import get_run


class BackupPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[BackupFilter])
class Backups(ListAPIView[Backup]):
    """The backups of targets before loads, newest first."""

    request: Request
    serializer_class = BackupSerializer
    pagination_class = BackupPage

    def get_queryset(self) -> QuerySet[Backup]:
        return list_backups(
            self.request.workspace, **read_query(self.request, BackupFilter, pipeline=get_pipeline, run=get_run)
        )


class RestoreBackup(APIView):
    @extend_schema(request=Reason, responses={202: QueuedRunSerializer})
    def post(self, request: Request, backup: UUID) -> Response:
        """Queue a run that restores the rows, the watermark and the states of files of a backup."""
        found = get_backup(request.workspace, backup)
        user = request.user if isinstance(request.user, User) else None
        run = restore_backup(found, read_reason(request), Trigger.API, user=user)
        return Response(QueuedRunSerializer(run).data, status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("backups/", Backups.as_view(), name="backups"),
    path("backups/<uuid:backup>/restore/", RestoreBackup.as_view(), name="restore_backup"),
]
