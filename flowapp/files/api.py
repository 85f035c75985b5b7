"""API routes for files."""

from __future__ import annotations

from uuid import UUID

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.generics import ListAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.models import User
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.api.bodies import Reason, read_reason
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.queries import read_query
from flowapp.api.serializers import QueuedRunSerializer
from flowapp.files.serializers import (
    DetectionSerializer,
    DetectRequest,
    FileFilter,
    FileSerializer,
    UndoPreviewSerializer,
    UndoRequest,
    UploadedSerializer,
    UploadRequest,
)
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.load_units.selectors import NEWEST_FIRST, get_unit, list_units
from flowapp.runs.load_units.services import leave_out, load_file_again
from flowapp.runs.models import Trigger
from flowapp.runs.selectors import get_run
from flowapp.undos.services import preview, undo_file
from flowapp.uploads.heads import read_head
from flowapp.uploads.services import keep_upload, uploaded_file


class UnitPage(FlowCursorPagination):
    ordering = NEWEST_FIRST


@extend_schema(parameters=[FileFilter])
class Files(ListAPIView[LoadUnit]):
    """Files that pipelines have found, the most recently changed first."""

    request: Request
    serializer_class = FileSerializer
    pagination_class = UnitPage

    def get_queryset(self) -> QuerySet[LoadUnit]:
        return list_units(
            self.request.workspace, **read_query(self.request, FileFilter, pipeline=get_pipeline, run=get_run)
        )


class UploadFile(APIView):
    parser_classes = (MultiPartParser,)

    @extend_schema(request={"multipart/form-data": UploadRequest}, responses={201: UploadedSerializer})
    def post(self, request: Request) -> Response:
        """Upload a file into a folder of the workspace. An existing file is never overwritten."""
        folder = UploadRequest(data={"folder": request.POST.get("folder", "")})
        folder.is_valid(raise_exception=True)
        user = request.user if isinstance(request.user, User) else None
        uploaded = keep_upload(
            request.workspace, folder.validated_data["folder"], uploaded_file(request._request), user
        )
        return Response(UploadedSerializer(uploaded).data, status.HTTP_201_CREATED)


class DetectSettings(APIView):
    permission_classes = (workspace_role(read=ROWS_VIEW, write=ROWS_VIEW),)

    @extend_schema(request=DetectRequest, responses=DetectionSerializer)
    def post(self, request: Request) -> Response:
        """Detect the format and the columns of a file of the workspace, and list the values that do not fit. Reads at
        most 1 MB. The given settings are not detected. Nothing is stored."""
        asked = DetectRequest(data=request.data)
        asked.is_valid(raise_exception=True)
        found = read_head(request.workspace, asked.validated_data["path"]).detect(asked.given())
        return Response(DetectionSerializer(found).data, headers={"Cache-Control": "no-store"})


class LoadAgain(APIView):
    @extend_schema(request=Reason, responses=FileSerializer)
    def post(self, request: Request, unit: UUID) -> Response:
        """Let the next run load this file again."""
        found = get_unit(request.workspace, unit)
        return Response(FileSerializer(load_file_again(found, read_reason(request))).data)


class LeaveOut(APIView):
    @extend_schema(request=Reason, responses=FileSerializer)
    def post(self, request: Request, unit: UUID) -> Response:
        """Exclude a failed file, so that the files that wait for it can load."""
        found = get_unit(request.workspace, unit)
        return Response(FileSerializer(leave_out(found, read_reason(request))).data)


class Undo(APIView):
    permission_classes = (workspace_role(read="editor", write="editor"),)

    @extend_schema(responses=UndoPreviewSerializer)
    def get(self, request: Request, unit: UUID) -> Response:
        """Count the rows that an undo of this file would delete. Changes nothing."""
        return Response(UndoPreviewSerializer(preview(get_unit(request.workspace, unit))).data)

    @extend_schema(request=UndoRequest, responses={202: QueuedRunSerializer})
    def post(self, request: Request, unit: UUID) -> Response:
        """Delete the rows that the pipeline has loaded from this file. `rows` is their number as GET returns it."""
        found = get_unit(request.workspace, unit)
        asked = UndoRequest(data=request.data)
        asked.is_valid(raise_exception=True)
        user = request.user if isinstance(request.user, User) else None
        given = asked.validated_data
        run = undo_file(found, given["reason"], given["rows"], Trigger.API, user=user)
        return Response(QueuedRunSerializer(run).data, status.HTTP_202_ACCEPTED)


urlpatterns = [
    path("files/", Files.as_view(), name="files"),
    path("files/upload/", UploadFile.as_view(), name="upload_file"),
    path("files/detect/", DetectSettings.as_view(), name="detect_settings"),
    path("files/<uuid:unit>/load-again/", LoadAgain.as_view(), name="load_again"),
    path("files/<uuid:unit>/undo/", Undo.as_view(), name="undo_file"),
    path("files/<uuid:unit>/leave-out/", LeaveOut.as_view(), name="leave_out"),
]
