"""API routes for pipelines: documents, versions, drafts and the parser."""

from __future__ import annotations

import json
import re
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import APIException
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import is_at_least
from flowapp.api.openapi import ETAG, if_match
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.parsers import BoundedJSONParser
from flowapp.api.problems import flow_problem
from flowapp.api.queries import read_query
from flowapp.api.serializers import PipelineDocumentSerializer, ProblemSerializer
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.copies import duplicate_pipeline
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import Draft, Pipeline, PipelineVersion
from flowapp.pipelines.selectors import (
    get_pipeline,
    get_version,
    list_pipelines,
    list_versions,
)
from flowapp.pipelines.serializers import (
    DraftPatchRequest,
    DraftSerializer,
    DraftTextRequest,
    PipelineListFilter,
    PipelineRequest,
    PipelineSerializer,
    PipelineSwitches,
    RestoreVersionRequest,
    SaveDraftRequest,
    ValidationRequest,
    ValidationSerializer,
    VersionConflictSerializer,
    VersionSerializer,
)
from flowapp.pipelines.services import (
    SWITCHES,
    VersionConflict,
    create_pipeline,
    restore_version,
    save_version,
)
from flowapp.web.problems import CONTENT_TYPE
from ir.schema import schema_document

JSON_SCHEMA = {"type": "object", "additionalProperties": {}, "description": "A JSON Schema (draft 2020-12)."}
DRAFT_HEADERS = [if_match("The `revision` that the change was made from.", required=False), ETAG]
JSON_PATCH = {"$ref": "#/components/schemas/JsonPatch"}
NEW_PIPELINE = PolymorphicProxySerializer("NewPipeline", [VersionSerializer, PipelineSerializer], None)
_TAG = re.compile(r'"(\d{1,9})"')


class JsonPatchParser(BoundedJSONParser):
    media_type = "application/json-patch+json"


class PreconditionRequired(APIException):
    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_detail = 'Send the version that the document is based on: If-Match: "<version>", "0" for a new pipeline.'
    default_code = "precondition.required"


class PipelinePage(FlowCursorPagination):
    ordering = ("slug",)


class VersionPage(FlowCursorPagination):
    ordering = ("-number",)


@extend_schema(parameters=[PipelineListFilter])
class Pipelines(ListAPIView[Pipeline]):
    """List and create pipelines. POST takes `{"document": {…}}` or its text, or `{"id", "name"}` for a pipeline without
    a version."""

    request: Request
    serializer_class = PipelineSerializer
    pagination_class = PipelinePage
    permission_classes = (workspace_role(),)

    def get_queryset(self) -> QuerySet[Pipeline]:
        return list_pipelines(self.request.workspace, **read_query(self.request, PipelineListFilter))

    @extend_schema(request=PipelineRequest, responses={201: NEW_PIPELINE}, parameters=[ETAG])
    def post(self, request: Request) -> Response:
        """Return the first version, or the pipeline if the body has no document."""
        data = _read(request, PipelineRequest)
        if "document" not in data:
            pipeline = create_pipeline(request.workspace, data["id"], data["name"])
            return Response(PipelineSerializer(pipeline).data, status.HTTP_201_CREATED)
        text, message = _text_of(data["document"]), data["message"]
        syntax = syntax_of(text)
        document = check_text(request.workspace, text, syntax=syntax, fresh=True).require_valid()
        with transaction.atomic():
            create_pipeline(request.workspace, document.id)
            version = save_version(request.workspace, text, author_of(request), message, 0, syntax, request.role)
        return _saved(version, status.HTTP_201_CREATED)


class PipelineDetail(APIView):
    @extend_schema(responses=PipelineSerializer)
    def get(self, request: Request, slug: str) -> Response:
        return Response(PipelineSerializer(get_pipeline(request.workspace, slug)).data)

    @extend_schema(request=PipelineSwitches, responses={200: PipelineSerializer, 409: ProblemSerializer})
    def patch(self, request: Request, slug: str) -> Response:
        """Change the switches of a pipeline: enabled, paused, archived. A pipeline with unfinished runs cannot be
        archived."""
        pipeline = get_pipeline(request.workspace, slug)
        with transaction.atomic():
            for name, value in _read(request, PipelineSwitches).items():
                SWITCHES[name](pipeline, value)
        return Response(PipelineSerializer(pipeline).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Delete a pipeline with its versions, drafts, runs and alerts, the backups of its tables, samples of its rows
        and its watermarks. If a database does not respond, its part is deleted later. Loaded tables and rejected rows
        are not deleted."""
        delete_pipeline(get_pipeline(request.workspace, slug))
        return Response(status=status.HTTP_204_NO_CONTENT)


class DuplicatePipeline(APIView):
    @extend_schema(request=None, responses={201: PipelineSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Copy the newest version under a free id. The copy loads the same tables; its schedule is paused."""
        original = get_pipeline(request.workspace, slug)
        copy = duplicate_pipeline(original, author_of(request), role=request.role)
        return Response(PipelineSerializer(copy).data, status.HTTP_201_CREATED)


class PipelineDocument(APIView):
    """The document of the newest version, or of the version in `?version=`. Its ETag is the version's number."""

    @extend_schema(responses=PipelineDocumentSerializer, parameters=[OpenApiParameter("version", int), ETAG])
    def get(self, request: Request, slug: str) -> Response:
        wanted = request.query_params.get("version")
        if wanted is not None and not (wanted.isdecimal() and len(wanted) < 10):
            raise serializers.ValidationError({"version": "A version is a number with up to 9 digits."})
        version = get_version(get_pipeline(request.workspace, slug), int(wanted) if wanted else None)
        document = json.loads(drafts.json_text(version.document))
        return Response(PipelineDocumentSerializer(document).data, headers={"ETag": f'"{version.number}"'})

    @extend_schema(
        request=PipelineDocumentSerializer,
        responses={200: VersionSerializer, 412: VersionConflictSerializer, 428: ProblemSerializer},
        parameters=[if_match("The version that the document was made from.", required=True), ETAG],
    )
    def put(self, request: Request, slug: str) -> Response:
        """Save the document as the newest version."""
        expected = _expected_version(request)
        pipeline = get_pipeline(request.workspace, slug)
        text = _text_of(request.data)
        document = check_text(request.workspace, text, fresh=True).require_valid()
        drafts.require_same_id(pipeline, document.id)
        try:
            version = save_version(request.workspace, text, author_of(request), "", expected, "json", request.role)
        except VersionConflict as conflict:
            return conflict_response(conflict, pipeline, text)
        return _saved(version)


class Versions(ListAPIView[PipelineVersion]):
    request: Request
    serializer_class = VersionSerializer
    pagination_class = VersionPage
    permission_classes = (workspace_role(),)

    def get_queryset(self) -> QuerySet[PipelineVersion]:
        if getattr(self, "swagger_fake_view", False):
            return PipelineVersion.objects.none()
        return list_versions(get_pipeline(self.request.workspace, self.kwargs["slug"]))


class DraftOfOne(APIView):
    """Your draft. PUT takes `{"text", "position"?}`, PATCH a JSON Patch, or `{"patch", "label"?, "position"?}`.

    The ETag is the draft's `revision`. Every change accepts `If-Match: "<revision>"` and returns 409, code
    `draft.conflict`, if the draft has another revision."""

    parser_classes = (JsonPatchParser, BoundedJSONParser)

    @extend_schema(responses=DraftSerializer, parameters=[ETAG])
    def get(self, request: Request, slug: str) -> Response:
        return _draft_response(request, _draft(request, slug))

    @extend_schema(request=DraftTextRequest, responses=DraftSerializer, parameters=DRAFT_HEADERS)
    def put(self, request: Request, slug: str) -> Response:
        draft = _draft(request, slug)
        data, seen = _read(request, DraftTextRequest), drafts.read_seen(request.headers)
        label, position = data["label"] or "JSON", data.get("position")
        draft = drafts.replace_text(draft, data["text"], label, position, seen)
        return _draft_response(request, draft)

    @extend_schema(
        request={"application/json": DraftPatchRequest, JsonPatchParser.media_type: JSON_PATCH},
        responses=DraftSerializer,
        parameters=[*DRAFT_HEADERS, OpenApiParameter("label", str)],
    )
    def patch(self, request: Request, slug: str) -> Response:
        draft = _draft(request, slug)
        given = request.data if isinstance(request.data, dict) else {"patch": request.data}
        label = request.query_params.get("label", "")
        data = _read_data({"label": label, **given}, DraftPatchRequest)
        seen, position = drafts.read_seen(request.headers), data.get("position")
        draft = drafts.patch_draft(draft, data["patch"], data["label"] or "Canvas", position, seen)
        return _draft_response(request, draft)

    @extend_schema(responses={200: DraftSerializer}, parameters=DRAFT_HEADERS)
    def delete(self, request: Request, slug: str) -> Response:
        """Discard the draft; return a draft of the newest version."""
        return _draft_response(request, drafts.discard(_draft(request, slug), drafts.read_seen(request.headers)))


class Undo(APIView):
    @extend_schema(request=None, responses=DraftSerializer, parameters=DRAFT_HEADERS)
    def post(self, request: Request, slug: str) -> Response:
        return _draft_response(request, drafts.undo(_draft(request, slug), drafts.read_seen(request.headers)))


class Redo(APIView):
    @extend_schema(request=None, responses=DraftSerializer, parameters=DRAFT_HEADERS)
    def post(self, request: Request, slug: str) -> Response:
        return _draft_response(request, drafts.redo(_draft(request, slug), drafts.read_seen(request.headers)))


class SaveDraft(APIView):
    """Save your draft as the newest version."""

    @extend_schema(
        request=SaveDraftRequest,
        responses={200: VersionSerializer, 412: VersionConflictSerializer},
        parameters=DRAFT_HEADERS,
    )
    def post(self, request: Request, slug: str) -> Response:
        draft = _draft(request, slug)
        try:
            message = _read(request, SaveDraftRequest)["message"]
            author, seen = author_of(request), drafts.read_seen(request.headers)
            return _saved(drafts.save_draft(draft, author, message, role=request.role, seen=seen))
        except VersionConflict as conflict:
            return conflict_response(conflict, draft.pipeline, draft.text)


class Restore(APIView):
    """Make an old version the newest."""

    @extend_schema(request=RestoreVersionRequest, responses=VersionSerializer, parameters=[ETAG])
    def post(self, request: Request, slug: str) -> Response:
        number = _read(request, RestoreVersionRequest)["version"]
        pipeline = get_pipeline(request.workspace, slug)
        return _saved(restore_version(pipeline, number, author_of(request), role=request.role))


class Validate(APIView):
    """Return all diagnostics of a document or its text, including those that depend on databases. Nothing is saved."""

    permission_classes = (workspace_role(write="viewer"),)

    @extend_schema(request=ValidationRequest, responses=ValidationSerializer)
    def post(self, request: Request) -> Response:
        data = _object(request)
        text = _text_of(data["text"] if "text" in data else data.get("document", data))
        checked = check_text(
            request.workspace, text, syntax=syntax_of(text), looks_at_files=is_at_least(request.role, "editor")
        )
        return Response(ValidationSerializer(checked).data)


class SchemaRenderer(JSONRenderer):
    media_type = "application/schema+json"


class PipelineSchema(APIView):
    """The JSON Schema of pipeline documents."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    renderer_classes = (SchemaRenderer, JSONRenderer)

    @extend_schema(responses={(200, SchemaRenderer.media_type): JSON_SCHEMA})
    def get(self, request: Request) -> Response:
        return Response(schema_document(), headers={"Cache-Control": "public, max-age=300"})


def _draft(request: Request, slug: str) -> Draft:
    return drafts.open_draft(get_pipeline(request.workspace, slug), author_of(request))


def _draft_response(request: Request, draft: Draft) -> Response:
    can_edit = is_at_least(request.role, "editor")
    view = drafts.view_draft(draft, looks_at_files=can_edit)
    return Response(DraftSerializer(view, context={"can_edit": can_edit}).data, headers={"ETag": f'"{draft.revision}"'})


def _saved(version: PipelineVersion, code: int = status.HTTP_200_OK) -> Response:
    return Response(VersionSerializer(version).data, code, headers={"ETag": f'"{version.number}"'})


def conflict_response(conflict: VersionConflict, pipeline: Pipeline, text: str) -> Response:
    """Return 412 with both documents: `current`, which is stored, and `yours`."""
    newest = get_version(pipeline)
    problem = {**flow_problem(conflict), "current": newest, "yours": {"version": conflict.expected, "document": text}}
    body = VersionConflictSerializer(problem, context={"document": drafts.json_text(newest.document)}).data
    return Response(body, status.HTTP_412_PRECONDITION_FAILED, content_type=CONTENT_TYPE)


def _object(request: Request) -> dict[str, Any]:
    if not isinstance(request.data, dict):
        raise serializers.ValidationError("The body is not a JSON object.")
    return request.data


def _read(request: Request, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    return _read_data(request.data, kind)


def _read_data(data: Any, kind: type[serializers.Serializer[Any]]) -> dict[str, Any]:
    """Validate the body. Raises ValidationError."""
    given = kind(data=data)
    given.is_valid(raise_exception=True)
    return dict(given.validated_data)


def _text_of(document: Any) -> str:
    """Return a document's text, whether it was sent as text or as JSON."""
    return document if isinstance(document, str) else json.dumps(document, indent=2) + "\n"


def _expected_version(request: Request) -> int:
    given = request.headers.get("If-Match")
    if given is None:
        raise PreconditionRequired
    match = _TAG.fullmatch(given.strip())
    if match is None:
        raise serializers.ValidationError({"If-Match": 'It is a version in quotes: If-Match: "3".'})
    return int(match[1])


urlpatterns = [
    path("schema/pipeline.json", PipelineSchema.as_view(), name="pipeline_schema"),
    path("pipelines/", Pipelines.as_view(), name="pipelines"),
    path("pipelines/validate/", Validate.as_view(), name="validate"),
    path("pipelines/<slug:slug>/", PipelineDetail.as_view(), name="pipeline"),
    path("pipelines/<slug:slug>/duplicate/", DuplicatePipeline.as_view(), name="duplicate_pipeline"),
    path("pipelines/<slug:slug>/ir/", PipelineDocument.as_view(), name="ir"),
    path("pipelines/<slug:slug>/versions/", Versions.as_view(), name="versions"),
    path("pipelines/<slug:slug>/restore/", Restore.as_view(), name="restore"),
    path("pipelines/<slug:slug>/draft/", DraftOfOne.as_view(), name="draft"),
    path("pipelines/<slug:slug>/draft/undo/", Undo.as_view(), name="undo"),
    path("pipelines/<slug:slug>/draft/redo/", Redo.as_view(), name="redo"),
    path("pipelines/<slug:slug>/draft/save/", SaveDraft.as_view(), name="save_draft"),
]
