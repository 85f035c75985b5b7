"""The API's routes for pipelines: documents, versions, drafts and the parser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.exceptions import APIException
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from flowapp.accounts.authentication import author_of
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.roles import is_at_least
from flowapp.api.paging import FlowCursorPagination
from flowapp.api.parsers import BoundedJSONParser
from flowapp.api.problems import flow_problem
from flowapp.pipelines import drafts
from flowapp.pipelines.checking import check_text
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import Draft, Pipeline, PipelineVersion
from flowapp.pipelines.selectors import (
    get_pipeline,
    get_version,
    list_pipelines,
    list_versions,
    pipeline_document,
    version_document,
)
from flowapp.pipelines.services import (
    VersionConflict,
    create_pipeline,
    delete_pipeline,
    restore_version,
    save_version,
)
from flowapp.web.problems import CONTENT_TYPE
from ir.schema import schema_document

MOST_WORDS = 2000
OBJECT = OpenApiTypes.OBJECT
_TAG = re.compile(r'"(\d{1,9})"')


class JsonPatchParser(BoundedJSONParser):
    media_type = "application/json-patch+json"


class PreconditionRequired(APIException):
    status_code = status.HTTP_428_PRECONDITION_REQUIRED
    default_detail = 'Say which version the document was made from: If-Match: "<version>", "0" for a new pipeline.'
    default_code = "precondition.required"


class PipelinePage(FlowCursorPagination):
    ordering = ("ident",)


class VersionPage(FlowCursorPagination):
    ordering = ("-number",)


class _Listed(serializers.BaseSerializer[Any]):
    """Gives rows by a function, so that lists, single objects and the command line agree."""

    def to_representation(self, instance: Any) -> dict[str, Any]:
        return SHAPES[type(instance)](instance)


SHAPES = {Pipeline: pipeline_document, PipelineVersion: version_document}


class Pipelines(ListAPIView[Pipeline]):
    """All pipelines, and new ones: `{"document": {…}}` or its text, or `{"id", "name"}` for one without a version."""

    serializer_class = _Listed
    pagination_class = PipelinePage
    permission_classes = (workspace_role(),)

    def get_queryset(self) -> QuerySet[Pipeline]:
        return list_pipelines(self.request.workspace)

    @extend_schema(request=OBJECT, responses={201: OBJECT})
    def post(self, request: Request) -> Response:
        data = _object(request)
        if "document" not in data:
            pipeline = create_pipeline(request.workspace, _words(data, "id"), _words(data, "name"))
            return Response(pipeline_document(pipeline), status.HTTP_201_CREATED)
        text, message = _text_of(data["document"]), _words(data, "message")
        syntax = syntax_of(text)
        document = check_text(request.workspace, text, syntax=syntax, fresh=True).require_valid()
        with transaction.atomic():
            create_pipeline(request.workspace, document.id)
            version = save_version(request.workspace, text, author_of(request), message, 0, syntax, request.role)
        return _saved(version, status.HTTP_201_CREATED)


class One(APIView):
    @extend_schema(responses=OBJECT)
    def get(self, request: Request, ident: str) -> Response:
        return Response(pipeline_document(get_pipeline(request.workspace, ident)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, ident: str) -> Response:
        """Versions, drafts, runs and alerts go, and so do backups of its tables, samples of its rows and its marks:
        where a database does not answer, as soon as it does. Tables and rejected rows stay where they are."""
        delete_pipeline(get_pipeline(request.workspace, ident))
        return Response(status=status.HTTP_204_NO_CONTENT)


class Ir(APIView):
    """The document of the newest version, or with `?version=` of another. Its ETag is the version's number."""

    @extend_schema(responses=OBJECT, parameters=[OpenApiParameter("version", int)])
    def get(self, request: Request, ident: str) -> Response:
        wanted = request.query_params.get("version")
        if wanted is not None and not (wanted.isdecimal() and len(wanted) < 10):
            raise serializers.ValidationError({"version": "A version is a number of up to 9 digits."})
        version = get_version(get_pipeline(request.workspace, ident), int(wanted) if wanted else None)
        document = json.loads(drafts.json_text(version.document))
        return Response(document, headers={"ETag": f'"{version.number}"'})

    @extend_schema(
        request=OBJECT, responses=OBJECT, parameters=[OpenApiParameter("If-Match", str, OpenApiParameter.HEADER)]
    )
    def put(self, request: Request, ident: str) -> Response:
        expected = _expected_version(request)
        pipeline = get_pipeline(request.workspace, ident)
        text = _text_of(request.data)
        document = check_text(request.workspace, text, fresh=True).require_valid()
        drafts.require_same_id(pipeline, document.id)
        try:
            version = save_version(request.workspace, text, author_of(request), "", expected, "json", request.role)
        except VersionConflict as conflict:
            return conflict_response(conflict, pipeline, text)
        return _saved(version)


class Versions(ListAPIView[PipelineVersion]):
    serializer_class = _Listed
    pagination_class = VersionPage
    permission_classes = (workspace_role(),)

    def get_queryset(self) -> QuerySet[PipelineVersion]:
        if getattr(self, "swagger_fake_view", False):
            return PipelineVersion.objects.none()
        return list_versions(get_pipeline(self.request.workspace, self.kwargs["ident"]))


class DraftOfOne(APIView):
    """Your draft. PUT takes `{"text", "position"?}`, PATCH a JSON Patch, or `{"patch", "label"?, "position"?}`.

    The ETag is the draft's `revision`. All that changes it takes `If-Match: "<revision>"` and answers 409, code
    `draft.conflict`, where the draft is another one by now.
    """

    parser_classes = (JsonPatchParser, BoundedJSONParser)

    @extend_schema(responses=OBJECT)
    def get(self, request: Request, ident: str) -> Response:
        return _draft_response(request, _draft(request, ident))

    @extend_schema(request=OBJECT, responses=OBJECT)
    def put(self, request: Request, ident: str) -> Response:
        data = _object(request)
        label = _words(data, "label") or "JSON"
        draft = drafts.replace_text(
            _draft(request, ident), data.get("text"), label, _position(data), drafts.read_seen(request.headers)
        )
        return _draft_response(request, draft)

    @extend_schema(request=OBJECT, responses=OBJECT)
    def patch(self, request: Request, ident: str) -> Response:
        data = request.data if isinstance(request.data, dict) else {"patch": request.data}
        label = _words(data, "label") or _words(request.query_params, "label") or "Canvas"
        draft = drafts.patch_draft(
            _draft(request, ident), data.get("patch"), label, _position(data), drafts.read_seen(request.headers)
        )
        return _draft_response(request, draft)

    @extend_schema(responses=OBJECT)
    def delete(self, request: Request, ident: str) -> Response:
        return _draft_response(request, drafts.discard(_draft(request, ident), drafts.read_seen(request.headers)))


class Undo(APIView):
    @extend_schema(request=None, responses=OBJECT)
    def post(self, request: Request, ident: str) -> Response:
        return _draft_response(request, drafts.undo(_draft(request, ident), drafts.read_seen(request.headers)))


class Redo(APIView):
    @extend_schema(request=None, responses=OBJECT)
    def post(self, request: Request, ident: str) -> Response:
        return _draft_response(request, drafts.redo(_draft(request, ident), drafts.read_seen(request.headers)))


class SaveDraft(APIView):
    """Make your draft the newest version: `{"message"?}`."""

    @extend_schema(request=OBJECT, responses=OBJECT)
    def post(self, request: Request, ident: str) -> Response:
        draft = _draft(request, ident)
        try:
            message = _words(_object(request), "message")
            author, seen = author_of(request), drafts.read_seen(request.headers)
            return _saved(drafts.save_draft(draft, author, message, role=request.role, seen=seen))
        except VersionConflict as conflict:
            return conflict_response(conflict, draft.pipeline, draft.text)


class Restore(APIView):
    """Make an old version the newest: `{"version": 3}`."""

    @extend_schema(request=OBJECT, responses=OBJECT)
    def post(self, request: Request, ident: str) -> Response:
        number = _object(request).get("version")
        if isinstance(number, bool) or not isinstance(number, int):
            raise serializers.ValidationError({"version": "A version is a number."})
        pipeline = get_pipeline(request.workspace, ident)
        return _saved(restore_version(pipeline, number, author_of(request), role=request.role))


class Validate(APIView):
    """All diagnostics of `{"document"}` or `{"text"}`, with what the databases hold. Saves nothing."""

    permission_classes = (workspace_role(write="viewer"),)

    @extend_schema(request=OBJECT, responses=OBJECT)
    def post(self, request: Request) -> Response:
        data = _object(request)
        text = _text_of(data["text"] if "text" in data else data.get("document", data))
        checked = check_text(
            request.workspace, text, syntax=syntax_of(text), looks_at_files=is_at_least(request.role, "editor")
        )
        return Response(
            {
                "valid": checked.pipeline is not None,
                "diagnostics": [d.to_json() for d in checked.diagnostics],
                "skipped": [s.to_json() for s in checked.skipped],
            }
        )


class SchemaRenderer(JSONRenderer):
    media_type = "application/schema+json"


class PipelineSchema(APIView):
    """The JSON Schema of pipeline documents."""

    authentication_classes = ()
    permission_classes = (AllowAny,)
    renderer_classes = (SchemaRenderer, JSONRenderer)

    @extend_schema(responses=OBJECT)
    def get(self, request: Request) -> Response:
        return Response(schema_document(), headers={"Cache-Control": "public, max-age=300"})


def _draft(request: Request, ident: str) -> Draft:
    return drafts.open_draft(get_pipeline(request.workspace, ident), author_of(request))


def _draft_response(request: Request, draft: Draft) -> Response:
    can_edit = is_at_least(request.role, "editor")
    shown = drafts.view_draft(draft, looks_at_files=can_edit).to_json(read_only=not can_edit)
    return Response(shown, headers={"ETag": f'"{draft.revision}"'})


def _saved(version: PipelineVersion, code: int = status.HTTP_200_OK) -> Response:
    return Response(version_document(version), code, headers={"ETag": f'"{version.number}"'})


def conflict_response(conflict: VersionConflict, pipeline: Pipeline, text: str) -> Response:
    """412 with both documents: `current`, which is stored, and `yours`."""
    newest = get_version(pipeline)
    body = flow_problem(conflict) | {
        "status": 412,
        "current": {**version_document(newest), "document": drafts.json_text(newest.document)},
        "yours": {"version": conflict.expected, "document": text},
    }
    return Response(body, status.HTTP_412_PRECONDITION_FAILED, content_type=CONTENT_TYPE)


def _object(request: Request) -> dict[str, Any]:
    if not isinstance(request.data, dict):
        raise serializers.ValidationError("The body is no JSON object.")
    return request.data


def _words(data: Mapping[str, Any], name: str) -> str:
    """An optional text of a body, as a database can keep it."""
    text = data.get(name, "")
    if not isinstance(text, str) or len(text) > MOST_WORDS or not drafts.is_storable(text):
        raise serializers.ValidationError({name: f"It is text of at most {MOST_WORDS} characters."})
    return text


def _text_of(document: Any) -> str:
    """A document's text, be it given as text or as JSON."""
    return document if isinstance(document, str) else json.dumps(document, indent=2) + "\n"


def _position(data: dict[str, Any]) -> int | None:
    position = data.get("position")
    return position if isinstance(position, int) and not isinstance(position, bool) else None


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
    path("pipelines/<slug:ident>/", One.as_view(), name="pipeline"),
    path("pipelines/<slug:ident>/ir/", Ir.as_view(), name="ir"),
    path("pipelines/<slug:ident>/versions/", Versions.as_view(), name="versions"),
    path("pipelines/<slug:ident>/restore/", Restore.as_view(), name="restore"),
    path("pipelines/<slug:ident>/draft/", DraftOfOne.as_view(), name="draft"),
    path("pipelines/<slug:ident>/draft/undo/", Undo.as_view(), name="undo"),
    path("pipelines/<slug:ident>/draft/redo/", Redo.as_view(), name="redo"),
    path("pipelines/<slug:ident>/draft/save/", SaveDraft.as_view(), name="save_draft"),
]
