"""API routes for rejected rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from executors.target_database import Verb
from flowapp.accounts.models import User
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.requests import Request
from flowapp.accounts.roles import require_values
from flowapp.api.queries import read_query
from flowapp.api.serializers import ProblemSerializer
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.choosing import choose_alike, choose_by_keys, key_of_entry, keys_of_entries
from flowapp.quarantine.counts import count_violations
from flowapp.quarantine.deciding import decide
from flowapp.quarantine.exporting import export_response
from flowapp.quarantine.models import Selection
from flowapp.quarantine.purging import SECONDS, counted_document, purge, rows_to_purge
from flowapp.quarantine.replaying import ALL, ask_for_runs, replay_notes
from flowapp.quarantine.results import page_results
from flowapp.quarantine.selectors import EntryFilter, find_entries, page_filtered
from flowapp.quarantine.serializers import (
    DecidedSerializer,
    DecideRequest,
    EntriesSerializer,
    EntryPageFilter,
    EntryPageSerializer,
    ExportFilter,
    FixRequest,
    PurgedSerializer,
    PurgeRequest,
    QueuedRunsSerializer,
    ReplayRequest,
    RowChangeRequest,
    RowResultFilter,
    RowResultPageSerializer,
    ViolationCountFilter,
    ViolationCountsSerializer,
)
from flowapp.quarantine.values import entry_document
from flowapp.runs.holds import Decider
from flowapp.runs.models import RunKind, Trigger
from flowapp.runs.selectors import get_run
from ir.errors import FlowError


class Errors(APIView):
    @extend_schema(operation_id="errors_list", parameters=[EntryPageFilter], responses=EntryPageSerializer)
    def get(self, request: Request) -> Response:
        """List violations, newest first. Rows are null for roles that see no values.

        A `search` examines a limited number of entries per request: `partial` means that it stopped before the end, and
        `next` continues it."""
        given = EntryPageFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        filters = _filters(request, data)
        found = page_filtered(request.workspace, filters, cursor=data["cursor"], limit=data["limit"])
        address = request.build_absolute_uri()
        answer = {
            "next": replace_query_param(address, "cursor", found.next) if found.next else None,
            "partial": found.is_partial,
            "results": [entry_document(entry, request.role) for entry in found.entries],
        }
        return Response(EntryPageSerializer(answer).data)


class Error(APIView):
    @extend_schema(request=RowChangeRequest, responses={200: EntriesSerializer, 409: ProblemSerializer})
    def patch(self, request: Request, row_key: str) -> Response:
        """Fix a row (`cells`), ignore it, or reopen it (`status: open`). `row_key` is its key, `run:row`, or the number
        of one of its entries. All entries of the row change."""
        given = RowChangeRequest(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        key = key_of_entry(request.workspace, row_key)
        selection = choose_by_keys(request.workspace, [key], decider_of(request))
        run, _, row_id = key.partition(":")
        before = next(iter(find_entries(request.workspace, get_run(request.workspace, run), [row_id])))
        if "revision" in data and data["revision"] != (before["revision"] or 0):
            raise _changed(key)
        cells = {(run, row_id): data["cells"]} if "cells" in data else None
        verb = "fix" if cells else _VERBS.get((before["status"], data.get("status", "")))
        if verb is None:
            raise FlowError(
                "errors.status_not_possible",
                f"The row is {before['status']}: it cannot become {data.get('status') or 'anything'}.",
                hint="Send cells or another status.",
            )
        done = decide(selection, verb, decider_of(request), data["reason"], cells)
        if not done.changed:
            raise _changed(key)
        after = find_entries(request.workspace, get_run(request.workspace, run), [row_id])
        return Response(EntriesSerializer({"results": [entry_document(e, request.role) for e in after]}).data)


_VERBS: dict[tuple[str, str], Verb] = {
    ("open", "ignored"): "ignore",
    ("fixed", "ignored"): "ignore",
    ("ignored", "open"): "reopen",
    ("fixed", "open"): "revert",
}
"""The decision that changes a row from one status to another."""


def _changed(key: str) -> FlowError:
    return FlowError(
        "errors.conflict",
        f"The row {key} changed in the meantime, or does not allow this change.",
        hint="Reload it, then decide.",
    )


class Replay(APIView):
    @extend_schema(request=ReplayRequest, responses={202: QueuedRunsSerializer})
    def post(self, request: Request) -> Response:
        """Replay rejected rows through the current rules. A row is loaded at most once."""
        body = ReplayRequest(data=request.data)
        body.is_valid(raise_exception=True)
        selection = _choose(request, body.validated_data)
        overwrite = body.validated_data.get("overwrite", ())
        kind = RunKind.RECHECK if body.validated_data["recheck"] else RunKind.REPLAY
        runs = ask_for_runs(
            kind,
            selection,
            Trigger.API,
            decider_of(request),
            overwrite=ALL if ALL in overwrite else overwrite,
            reason=body.validated_data["reason"],
        )
        return Response(QueuedRunsSerializer(_queued_runs(selection, runs)).data, status.HTTP_202_ACCEPTED)


class FixRows(APIView):
    @extend_schema(request=FixRequest, responses={202: QueuedRunsSerializer})
    def post(self, request: Request) -> Response:
        """Set a field of these rows to the value of an expression, as `derive` computes it."""
        body = FixRequest(data=request.data)
        body.is_valid(raise_exception=True)
        selection, data = _choose(request, body.validated_data), body.validated_data
        runs = ask_for_runs(
            RunKind.FIX,
            selection,
            Trigger.API,
            decider_of(request),
            column=data["field"],
            expression=data["expression"],
            replace_typed=data["replace_typed"],
            reason=data["reason"],
        )
        return Response(QueuedRunsSerializer(_queued_runs(selection, runs)).data, status.HTTP_202_ACCEPTED)


def _queued_runs(selection: Selection, runs: list[Any]) -> dict[str, Any]:
    nodes = {run.row_job.node for run in runs}
    return {
        "runs": [run.pk for run in runs],
        "rows": selection.rows,
        "complete": selection.is_whole,
        "notes": replay_notes(selection.pipeline, nodes),
    }


class RowsOfReplay(APIView):
    @extend_schema(parameters=[RowResultFilter], responses=RowResultPageSerializer)
    def get(self, request: Request, run: UUID) -> Response:
        """List the result of each row of a replay, without values of rows.

        `counts` are the numbers that the run counted, `listed` the numbers of stored results. They differ if results
        have expired."""
        given = RowResultFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        found = page_results(get_run(request.workspace, run), **given.validated_data)
        address = request.build_absolute_uri()
        answer = {
            "counts": found.counted,
            "listed": found.listed,
            "next": replace_query_param(address, "cursor", found.next) if found.next else None,
            "results": found.rows,
        }
        return Response(RowResultPageSerializer(answer).data)


class Decide(APIView):
    @extend_schema(request=DecideRequest, responses=DecidedSerializer)
    def post(self, request: Request) -> Response:
        """Ignore rows with a reason, reopen ignored rows, or revert fixes."""
        body = DecideRequest(data=request.data)
        body.is_valid(raise_exception=True)
        data = body.validated_data
        done = decide(_choose(request, body.validated_data), data["action"], decider_of(request), data["reason"])
        return Response(DecidedSerializer(done).data)


class ErrorCounts(APIView):
    @extend_schema(parameters=[ViolationCountFilter], responses=ViolationCountsSerializer)
    def get(self, request: Request) -> Response:
        """Count violations by pipeline, rule, field or day, without queries to target databases."""
        filters = read_query(request, ViolationCountFilter, pipeline=get_pipeline)
        counted = count_violations(request.workspace, filters.pop("by"), **filters)
        return Response(ViolationCountsSerializer({"results": counted}).data)


EXPORTED: dict[tuple[int, str], Any] = {
    (200, "text/csv"): {"type": "string"},
    (200, "application/json"): {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
}


class Export(APIView):
    @extend_schema(parameters=[ExportFilter], responses=EXPORTED)
    def get(self, request: Request) -> HttpResponseBase:
        """Export these entries with their values, as CSV whose cells no spreadsheet computes, or as JSON. The audit log
        records the export."""
        require_values(request.role)
        given = ExportFilter(data=request.query_params)
        given.is_valid(raise_exception=True)
        filters = _filters(request, dict(given.validated_data))
        return export_response(
            request._request, request.workspace, filters, given.validated_data["file"], decider_of(request)
        )


class Purge(APIView):
    permission_classes = (workspace_role(write="admin"),)

    @extend_schema(request=PurgeRequest, responses=PurgedSerializer)
    def post(self, request: Request) -> Response:
        """Delete entries permanently, with a reason. With `dryRun` they are only counted."""
        body = PurgeRequest(data=request.data)
        body.is_valid(raise_exception=True)
        data = body.validated_data
        filters, days = _filters(request, data["filter"]), data["older_than_days"]
        if data["dry_run"]:
            return Response(PurgedSerializer(counted_document(rows_to_purge(request.workspace, filters, days))).data)
        by, reason = decider_of(request), data["reason"]
        done = purge(request.workspace, filters, days, by, reason, seconds=SECONDS)
        return Response(PurgedSerializer({"entries": done.entries, "complete": done.is_whole}).data)


def _filters(request: Request, given: dict[str, Any]) -> EntryFilter:
    names = {name: given[name] for name in EntryFilter.__slots__ if name in given}
    for name, find in (("pipeline", get_pipeline), ("run", get_run)):
        if name in names:
            names[name] = find(request.workspace, names[name])
    if "replay" in names:
        names["replay"] = str(names["replay"])
    if names.get("search"):
        require_values(request.role)
    return EntryFilter(**names)


def _choose(request: Request, data: dict[str, Any]) -> Selection:
    by = decider_of(request)
    if data.get("ids"):
        return choose_by_keys(request.workspace, keys_of_entries(request.workspace, data["ids"]), by)
    return choose_alike(request.workspace, _filters(request, data.get("filter", {})), by)


def decider_of(request: Request) -> Decider:
    return Decider(str(request.user), request.user if isinstance(request.user, User) else None)


urlpatterns = [
    path("errors/", Errors.as_view(), name="errors"),
    path("errors/counts/", ErrorCounts.as_view(), name="error_counts"),
    path("errors/replay/", Replay.as_view(), name="replay_errors"),
    path("errors/fix/", FixRows.as_view(), name="fix_errors"),
    path("errors/decide/", Decide.as_view(), name="decide_errors"),
    path("errors/export/", Export.as_view(), name="export_errors"),
    path("errors/purge/", Purge.as_view(), name="purge_errors"),
    path("runs/<uuid:run>/rows/", RowsOfReplay.as_view(), name="rows_of_replay"),
    path("errors/<str:row_key>/", Error.as_view(), name="error"),
]
