"""The page that shows the changes of columns, and decides about them."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from flowapp.schema_changes.models import OPEN, ChangeState, ColumnChange
from flowapp.schema_changes.selectors import DECIDED, NEWEST_FIRST, get_change, list_changes, pipelines_by_table
from flowapp.schema_changes.services import accept_changes, reject_changes
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page
from ir.words import counted

MOST_OPEN = 500
"""The inbox shows this many changes; the others follow once these are decided."""


class Group(NamedTuple):
    """The open changes of one table by one pipeline, and the other pipelines that load or read the table."""

    pipeline: Pipeline
    table: str
    changes: list[ColumnChange]
    others: list[str]

    @property
    def undecided(self) -> list[ColumnChange]:
        return [change for change in self.changes if change.can_be_accepted]

    @property
    def is_accepted(self) -> bool:
        return any(change.state == ChangeState.ACCEPTED for change in self.changes)


@require_GET
@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    filters: dict[str, Any] = {}
    if given := request.GET.get("pipeline"):
        filters["pipeline"] = get_pipeline(request.workspace, given)
    changes = list_changes(request.workspace, **filters)
    context = {
        "groups": _groups(request, list(changes.filter(state__in=OPEN)[:MOST_OPEN])),
        "found": take_page(changes.filter(DECIDED), request.GET.get("cursor", ""), NEWEST_FIRST),
        **filters,
    }
    return render_page(request, "schema_changes/list.html", context, fragment="schema_changes/_log.html")


def _groups(request: HtmxRequest, changes: list[ColumnChange]) -> list[Group]:
    if not changes:
        return []
    naming = pipelines_by_table(request.workspace)
    groups: dict[tuple[Any, str], Group] = {}
    for change in changes:
        table = (change.connection, change.schema, change.table)
        others = [slug for slug in naming.get(table, []) if slug != change.pipeline.slug]
        new = Group(change.pipeline, f"{change.schema}.{change.table}", [], others)
        groups.setdefault((change.pipeline_id, change.node), new).changes.append(change)
    return list(groups.values())


@require_POST
@page(role="editor")
def accept(request: HtmxRequest) -> HttpResponse:
    """Accept the chosen changes of one pipeline; with `run`, load at once."""
    changes = [get_change(request.workspace, change) for change in dict.fromkeys(request.POST.getlist("change"))]
    if not changes:
        messages.error(request, "No change was chosen, so none is accepted.")
        return _back(request)
    pipelines = {change.pipeline.pk: change.pipeline for change in changes}
    reason = request.POST.get("reason", "")
    with transaction.atomic():
        accept_changes(changes, str(request.user), user=request.user, reason=reason)
        runs = [
            queue_run(pipeline, Trigger.MANUAL, user=request.user)
            for pipeline in (pipelines.values() if "run" in request.POST else ())
        ]
    words = f"{counted(len(changes), 'change')} accepted."
    if len(runs) == 1:
        messages.success(request, f"{words} This run applies {'it' if len(changes) == 1 else 'them'}.")
        return redirect("runs:detail", request.workspace.slug, runs[0].pk)
    messages.success(request, f"{words} The next run applies {'it' if len(changes) == 1 else 'them'}.")
    return _back(request)


@require_POST
@page(role="editor")
def reject(request: HtmxRequest, change: UUID) -> HttpResponse:
    found = get_change(request.workspace, change)
    reject_changes([found], str(request.user), user=request.user, reason=request.POST.get("reason", ""))
    messages.success(request, "Rejected. Loads with this change are refused.")
    return _back(request)


def _back(request: HtmxRequest) -> HttpResponseRedirect:
    return redirect(reverse("schema_changes:list", args=[request.workspace.slug]))
