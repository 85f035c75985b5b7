"""The API's routes for rejected rows."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from executors.target_database import STATUSES
from flowapp.accounts.models import User
from flowapp.accounts.permissions import workspace_role
from flowapp.accounts.roles import require_values
from flowapp.api.paging import no_cursor
from flowapp.api.queries import read_query
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.choosing import MOST_KEYS, choose_alike, choose_by_keys, key_of_entry, keys_of_entries
from flowapp.quarantine.counts import GROUPS, count_violations
from flowapp.quarantine.deciding import decide
from flowapp.quarantine.exporting import FORMATS, export_response
from flowapp.quarantine.models import Selection
from flowapp.quarantine.purging import SECONDS, counted_document, purge, rows_to_purge
from flowapp.quarantine.replaying import ALL, ask_for_runs, says_before_replay
from flowapp.quarantine.results import USUAL, page_results, result_document
from flowapp.quarantine.selectors import EntryFilter, find_entries, page_wanted, read_cursor
from flowapp.quarantine.values import entry_document
from flowapp.runs.holds import Decider
from flowapp.runs.models import Purpose, Trigger
from flowapp.runs.selectors import get_run
from ir.errors import FlowError

OBJECT = OpenApiTypes.OBJECT


class Narrowing(serializers.Serializer[Any]):
    """What narrows entries down."""

    pipeline = serializers.CharField(required=False)
    run = serializers.UUIDField(required=False)
    rule = serializers.CharField(required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    status = serializers.ChoiceField(STATUSES, required=False)
    day = serializers.DateField(required=False)
    replay = serializers.UUIDField(required=False, help_text="The run that replayed them last.")
    search = serializers.CharField(required=False, max_length=200, help_text="Text in the row; needs rows.view.")

    def wanted(self, request: Request, given: dict[str, Any]) -> EntryFilter:
        names = {name: given[name] for name in self.fields if name in given and name in EntryFilter.__slots__}
        for name, find in (("pipeline", get_pipeline), ("run", get_run)):
            if name in names:
                names[name] = find(request.workspace, names[name])
        if "replay" in names:
            names["replay"] = str(names["replay"])
        if names.get("search"):
            require_values(request.role)
        return EntryFilter(**names)


class EntriesWanted(Narrowing):
    limit = serializers.IntegerField(default=50, min_value=1, max_value=500)
    cursor = serializers.CharField(default="", allow_blank=True)

    def validate_cursor(self, cursor: str) -> str:
        try:
            read_cursor(cursor)
        except ValueError:
            raise no_cursor() from None
        return cursor


class CountsWanted(serializers.Serializer[Any]):
    by = serializers.ChoiceField(sorted(GROUPS), default="rule")
    days = serializers.IntegerField(default=30, min_value=1, max_value=3650)
    pipeline = serializers.CharField(required=False)


class Errors(APIView):
    @extend_schema(parameters=[EntriesWanted], responses=OBJECT)
    def get(self, request: Request) -> Response:
        """Violations, newest first, `{"next", "results"}`. Rows are null for roles that see no values.

        A `search` looks into so many entries at a time; `partial` says that it stopped before the end, and `next` goes
        on from there.
        """
        given = EntriesWanted(data=request.query_params)
        given.is_valid(raise_exception=True)
        data = dict(given.validated_data)
        wanted = given.wanted(request, data)
        found = page_wanted(request.workspace, wanted, cursor=data["cursor"], limit=data["limit"])
        address = request.build_absolute_uri()
        return Response(
            {
                "next": replace_query_param(address, "cursor", found.next) if found.next else None,
                "partial": found.is_partial,
                "results": [entry_document(entry, request.role) for entry in found.entries],
            }
        )


class RowChange(serializers.Serializer[Any]):
    status = serializers.ChoiceField(["fixed", "ignored", "open"], required=False)
    cells = serializers.DictField(
        child=serializers.CharField(allow_null=True, allow_blank=True, trim_whitespace=False), required=False
    )
    reason = serializers.CharField(default="", allow_blank=True, max_length=2000)
    revision = serializers.IntegerField(required=False, help_text="As it was seen; another one is answered with 409.")


class Error(APIView):
    @extend_schema(request=RowChange, responses={200: OBJECT, 409: OBJECT})
    def patch(self, request: Request, ident: str) -> Response:
        """Mend a row (`cells`), ignore it, or take that back (`status: open`). `ident` is its key, `run:row`, or the
        number of one of its entries. All entries of the row change."""
        given = RowChange(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        key = key_of_entry(request.workspace, ident)
        selection = choose_by_keys(request.workspace, [key], decider_of(request))
        run, _, row_id = key.partition(":")
        before = next(iter(find_entries(request.workspace, get_run(request.workspace, run), [row_id])))
        if "revision" in data and data["revision"] != (before["revision"] or 0):
            raise _changed(key)
        if "cells" in data:
            verb, cells = "fix", {(run, row_id): data["cells"]}
        else:
            verb, cells = _VERBS.get((before["status"], data.get("status", "")), ""), None
        if not verb:
            raise FlowError(
                "error.status",
                f"The row is {before['status']}: that cannot become {data.get('status') or 'anything'}.",
                hint="Send cells, or another status.",
            )
        done = decide(selection, verb, decider_of(request), data["reason"], cells)
        if not done.changed:
            raise _changed(key)
        after = list(find_entries(request.workspace, get_run(request.workspace, run), [row_id]))
        return Response({"results": [entry_document(entry, request.role) for entry in after]})


_VERBS: dict[tuple[str, str], Any] = {
    ("open", "ignored"): "ignore",
    ("fixed", "ignored"): "ignore",
    ("ignored", "open"): "reopen",
    ("fixed", "open"): "revert",
}
"""What is to be done for a row of one status to have another."""


def _changed(key: str) -> FlowError:
    return FlowError(
        "error.conflict",
        f"The row {key} was changed meanwhile, or cannot be changed like that.",
        hint="Look at it again, then decide.",
    )


class RowsChosen(serializers.Serializer[Any]):
    """Rows by their keys, or those that have something in common."""

    ids = serializers.ListField(child=serializers.CharField(), required=False, max_length=MOST_KEYS)
    filter = Narrowing(required=False)
    reason = serializers.CharField(default="", allow_blank=True, max_length=2000)

    def choose(self, request: Request) -> Selection:
        data = self.validated_data
        by = decider_of(request)
        if data.get("ids"):
            return choose_by_keys(request.workspace, keys_of_entries(request.workspace, data["ids"]), by)
        wanted = Narrowing().wanted(request, data.get("filter", {}))
        return choose_alike(request.workspace, wanted, by)


class ReplayWish(RowsChosen):
    recheck = serializers.BooleanField(default=False, help_text="Only tell what would become of the rows.")
    overwrite = serializers.ListField(
        child=serializers.CharField(), required=False, help_text='Keys of rows that may replace newer ones; or ["all"].'
    )


class Replay(APIView):
    @extend_schema(request=ReplayWish, responses={202: OBJECT})
    def post(self, request: Request) -> Response:
        """Replay rejected rows through the rules as they stand now: `{"runs", "rows", "notes"}`. The runs tell what
        became of the rows; no row is ever loaded twice."""
        wish = ReplayWish(data=request.data)
        wish.is_valid(raise_exception=True)
        selection = wish.choose(request)
        overwrite = wish.validated_data.get("overwrite", ())
        purpose = Purpose.RECHECK if wish.validated_data["recheck"] else Purpose.REPLAY
        runs = ask_for_runs(
            purpose,
            selection,
            Trigger.API,
            decider_of(request),
            overwrite=ALL if ALL in overwrite else overwrite,
            reason=wish.validated_data["reason"],
        )
        return Response(_asked(selection, runs), status.HTTP_202_ACCEPTED)


class MendWish(RowsChosen):
    field = serializers.CharField()
    expression = serializers.CharField(max_length=10_000)
    replaceTyped = serializers.BooleanField(  # noqa: N815
        default=False, help_text="Also where somebody has typed a value by hand."
    )


class Mend(APIView):
    @extend_schema(request=MendWish, responses={202: OBJECT})
    def post(self, request: Request) -> Response:
        """Put an expression's value into a field of all these rows, as `derive` computes it: `{"runs", "rows"}`."""
        wish = MendWish(data=request.data)
        wish.is_valid(raise_exception=True)
        selection, data = wish.choose(request), wish.validated_data
        runs = ask_for_runs(
            Purpose.MEND,
            selection,
            Trigger.API,
            decider_of(request),
            column=data["field"],
            expression=data["expression"],
            replace_typed=data["replaceTyped"],
            reason=data["reason"],
        )
        return Response(_asked(selection, runs), status.HTTP_202_ACCEPTED)


def _asked(selection: Selection, runs: list[Any]) -> dict[str, Any]:
    nodes = {run.row_job.node for run in runs}
    return {
        "runs": [str(run.pk) for run in runs],
        "rows": selection.rows,
        "complete": selection.is_whole,
        "notes": says_before_replay(selection.pipeline, nodes),
    }


class ResultsWanted(serializers.Serializer[Any]):
    result = serializers.CharField(required=False, max_length=40)
    limit = serializers.IntegerField(default=USUAL, min_value=1, max_value=500)
    cursor = serializers.CharField(default="", allow_blank=True)

    def validate_cursor(self, cursor: str) -> str:
        if cursor and not (cursor.isdecimal() and len(cursor) < 10):
            raise no_cursor()
        return cursor


class RowsOfReplay(APIView):
    @extend_schema(parameters=[ResultsWanted], responses=OBJECT)
    def get(self, request: Request, run: UUID) -> Response:
        """What became of each row of a replay: `{"counts", "listed", "next", "results"}`, without values of rows.

        `counts` is what the run has counted and `listed` what is kept row by row: they differ where it is too
        long ago.
        """
        given = ResultsWanted(data=request.query_params)
        given.is_valid(raise_exception=True)
        found = page_results(get_run(request.workspace, run), **given.validated_data)
        address = request.build_absolute_uri()
        return Response(
            {
                "counts": found.counted,
                "listed": found.listed,
                "next": replace_query_param(address, "cursor", found.next) if found.next else None,
                "results": [result_document(row) for row in found.rows],
            }
        )


class Decision(RowsChosen):
    action = serializers.ChoiceField(["ignore", "reopen", "revert"])


class Decide(APIView):
    @extend_schema(request=Decision, responses=OBJECT)
    def post(self, request: Request) -> Response:
        """Ignore rows with a reason, or take that or a mend back: `{"changed", "leftOut"}`."""
        wish = Decision(data=request.data)
        wish.is_valid(raise_exception=True)
        data = wish.validated_data
        done = decide(wish.choose(request), data["action"], decider_of(request), data["reason"])
        return Response({"changed": done.changed, "leftOut": done.left_out})


class ErrorCounts(APIView):
    @extend_schema(parameters=[CountsWanted], responses=OBJECT)
    def get(self, request: Request) -> Response:
        """Violations counted by pipeline, rule, field or day; no warehouse is asked."""
        wanted = read_query(request, CountsWanted, pipeline=get_pipeline)
        return Response({"results": count_violations(request.workspace, wanted.pop("by"), **wanted)})


class ExportWanted(Narrowing):
    file = serializers.ChoiceField(sorted(FORMATS), default="csv")


class Export(APIView):
    @extend_schema(parameters=[ExportWanted], responses={200: OpenApiTypes.BINARY})
    def get(self, request: Request) -> HttpResponseBase:
        """All these entries with their values, as CSV that no spreadsheet computes, or as JSON. Who asked is noted."""
        require_values(request.role)
        given = ExportWanted(data=request.query_params)
        given.is_valid(raise_exception=True)
        wanted = given.wanted(request, dict(given.validated_data))
        return export_response(
            request._request, request.workspace, wanted, given.validated_data["file"], decider_of(request)
        )


class PurgeWish(serializers.Serializer[Any]):
    filter = Narrowing()
    olderThanDays = serializers.IntegerField(min_value=0, source="days")  # noqa: N815
    reason = serializers.CharField(max_length=2000)
    dryRun = serializers.BooleanField(default=False, source="dry_run")  # noqa: N815


class Purge(APIView):
    permission_classes = (workspace_role(write="admin"),)

    @extend_schema(request=PurgeWish, responses=OBJECT)
    def post(self, request: Request) -> Response:
        """Throw entries away for good, with a reason: `{"entries"}`. With `dryRun` they are only counted; where that
        would take too long it is `{"entries": null, "atLeast"}`.

        What takes longer than a request may is told as `complete: false`: the others go without being asked for again.
        """
        wish = PurgeWish(data=request.data)
        wish.is_valid(raise_exception=True)
        data = wish.validated_data
        wanted = Narrowing().wanted(request, data["filter"])
        if data["dry_run"]:
            return Response(counted_document(rows_to_purge(request.workspace, wanted, data["days"])))
        by, reason = decider_of(request), data["reason"]
        done = purge(request.workspace, wanted, data["days"], by, reason, seconds=SECONDS)
        return Response({"entries": done.entries, "complete": done.is_whole})


def decider_of(request: Request) -> Decider:
    return Decider(str(request.user), request.user if isinstance(request.user, User) else None)


urlpatterns = [
    path("errors/", Errors.as_view(), name="errors"),
    path("errors/counts/", ErrorCounts.as_view(), name="error_counts"),
    path("errors/replay/", Replay.as_view(), name="replay_errors"),
    path("errors/mend/", Mend.as_view(), name="mend_errors"),
    path("errors/decide/", Decide.as_view(), name="decide_errors"),
    path("errors/export/", Export.as_view(), name="export_errors"),
    path("errors/purge/", Purge.as_view(), name="purge_errors"),
    path("runs/<uuid:run>/rows/", RowsOfReplay.as_view(), name="rows_of_replay"),
    path("errors/<str:ident>/", Error.as_view(), name="error"),
]
