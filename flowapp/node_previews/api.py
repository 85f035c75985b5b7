"""API routes for previews of nodes. They return values of rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.models import Token
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.node_previews.serializers import NodePreviewRequest, NodePreviewSerializer
from flowapp.node_previews.services import cancel_preview, get_preview, request_preview
from flowapp.node_previews.store import Answer, Owner, PreviewRequest
from flowapp.pipelines import drafts
from flowapp.pipelines.selectors import get_pipeline

SEES_ROWS = (workspace_role(read=ROWS_VIEW, write=ROWS_VIEW),)


class NodePreviews(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(request=NodePreviewRequest, responses={202: NodePreviewSerializer})
    def post(self, request: Request) -> Response:
        """Preview a node of your draft of a pipeline, without saving it. A newer preview of the pipeline replaces your
        last one."""
        given = NodePreviewRequest(data=request.data)
        given.is_valid(raise_exception=True)
        asked = dict(given.validated_data)
        draft = drafts.open_draft(get_pipeline(request.workspace, asked.pop("pipeline")), author_of(request))
        preview = request_preview(drafts.view_draft(draft), _owner(request), **asked)
        return _response(preview, Answer("queued"), status.HTTP_202_ACCEPTED)


class NodePreviewDetail(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(responses=NodePreviewSerializer)
    def get(self, request: Request, preview: UUID) -> Response:
        """Return the state of your preview, and its rows. Previews expire after 10 minutes."""
        return _response(*get_preview(_owner(request), preview))


class CancelNodePreview(APIView):
    permission_classes = SEES_ROWS

    @extend_schema(request=None, responses={202: NodePreviewSerializer})
    def post(self, request: Request, preview: UUID) -> Response:
        """Cancel your preview. A finished preview stays as it is."""
        return _response(*cancel_preview(_owner(request), preview), status.HTTP_202_ACCEPTED)


def _owner(request: Request) -> Owner:
    who = f"token-{request.auth.pk}" if isinstance(request.auth, Token) else f"user-{request.user.pk}"
    return Owner(str(request.workspace.pk), who)


def _response(preview: PreviewRequest, answer: Answer, code: int = status.HTTP_200_OK) -> Response:
    values: dict[str, Any] = {
        "id": preview.id,
        "pipeline": preview.pipeline,
        "node": preview.node,
        "sample": preview.sample,
        "state": answer.state,
        "error": answer.error,
        "result": answer.result,
    }
    return Response(NodePreviewSerializer(values).data, code, headers={"Cache-Control": "no-store"})


urlpatterns = [
    path("preview/", NodePreviews.as_view(), name="node_previews"),
    path("preview/<uuid:preview>/", NodePreviewDetail.as_view(), name="node_preview"),
    path("preview/<uuid:preview>/cancel/", CancelNodePreview.as_view(), name="cancel_node_preview"),
]
