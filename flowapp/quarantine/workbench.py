"""The pages for work on rejected rows: select, fix, decide, replay, export and purge."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from executors.errors import Failure
from executors.target_database import Entry
from flowapp.accounts.access import page
from flowapp.accounts.roles import require_values
from flowapp.quarantine.audit_log import list_audit_log
from flowapp.quarantine.choosing import choose_alike, choose_by_keys
from flowapp.quarantine.deciding import decide, reach_parts
from flowapp.quarantine.exporting import FORMATS, export_response
from flowapp.quarantine.forms import filters_of
from flowapp.quarantine.models import Selection
from flowapp.quarantine.purging import MOST_DAYS, SECONDS, purge, retention_of, rows_to_purge, set_retention
from flowapp.quarantine.replaying import ask_for_runs, replay_notes
from flowapp.quarantine.source_fields import SourceFields
from flowapp.quarantine.values import grid_row, standing_of
from flowapp.runs.holds import Decider
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError

GRID_ROWS, GRID_CELLS = 50, 800
"""The maximum numbers of rows and cells in the grid; decisions apply to all selected rows. Forms with more than 1,000
fields are refused."""
DECISIONS_SHOWN = 100
VERBS = {"ignore": "ignored", "reopen": "open again", "revert": "unchanged"}


@require_POST
@page(role="editor")
def select(request: HtmxRequest) -> HttpResponse:
    """Store the selected rows, or all matching rows, as a selection, and open it. After an error, return to the
    rows."""
    try:
        if request.POST.get("all"):
            chosen = choose_alike(request.workspace, filters_of(request, request.POST), decider(request))
        else:
            chosen = choose_by_keys(request.workspace, request.POST.getlist("row"), decider(request))
    except FlowError as error:
        messages.error(request, f"{error.message} {error.hint}".strip())
        narrowed = urlencode({n: v for n, v in request.POST.items() if n not in ("csrfmiddlewaretoken", "row", "all")})
        return redirect(f"{reverse('quarantine:rows', args=[request.workspace.slug])}?{narrowed}#messages")
    return _to(request, chosen)


@never_cache
@require_GET
@page(role="editor")
def selection(request: HtmxRequest, selection: UUID) -> HttpResponse:
    return _show(request, _get(request, selection))


def _show(request: HtmxRequest, found: Selection, refused: FlowError | None = None, at: str = "") -> HttpResponse:
    """Render a selection. After a refused action, show the error beside the action `at` and all submitted values."""
    context: dict[str, Any] = {
        "selection": found,
        "pipeline": found.pipeline,
        "refused": refused,
        "at": at,
        "typed": request.POST if refused else {},
    }
    try:
        context |= _grid(found, context["typed"])
    except Failure as error:
        return render_page(request, "quarantine/selection.html", {**context, "error": error}, status=status_of(error))
    return render_page(request, "quarantine/selection.html", context, status=status_of(refused) if refused else 200)


def _grid(selection: Selection, typed: Mapping[str, str]) -> dict[str, Any]:
    """Return the first rows with their cells, the number of rows of each status, and notes about a replay."""
    statuses: dict[str, int] = {}
    standing: Counter[str] = Counter()
    fixes = 0
    nodes: set[str] = set()
    fields: dict[str, None] = {}
    entries: list[Entry] = []
    for part in reach_parts(selection):
        for row in part.rows:
            statuses[row.status] = statuses.get(row.status, 0) + 1
            standing[standing_of(row)] += 1
            # A row of a run that loaded nothing is fixed by the next successful run, so there is no fix to revert.
            fixes += row.status == "fixed" and not standing_of(row)
            nodes.add(row.node)
        shown = part.rows[: GRID_ROWS - len(entries)]
        fields |= dict.fromkeys(part.rejects.field_names(part.table, shown))
        shown = shown[: max(1, GRID_CELLS // max(len(fields), 1)) - len(entries)]
        if shown:
            found = part.rejects.entries(part.table, [row.id for row in shown])
            entries += sorted(found, key=lambda entry: entry["id"])
    about = SourceFields(selection.workspace, entries)
    rows = [grid_row(entry, about.failing(entry)) for entry in entries]
    failing = [name for name in fields if any(name in row.failing for row in rows)]
    columns = [*failing, *(name for name in fields if name not in failing)]
    return {
        "statuses": statuses,
        "columns": columns,
        "notes": replay_notes(selection.pipeline, nodes),
        "grid": [(row, [row.cell(name).with_typed(typed, row.key) for name in columns]) for row in rows],
        "more": selection.rows - len(rows),
        "can_replay": standing.pop("", 0),
        "stay": dict(standing),
        "can_ignore": statuses.get("open", 0) + statuses.get("fixed", 0),
        "fixes": fixes,
    }


@require_POST
@page(role="editor")
def as_they_are(request: HtmxRequest, selection: UUID) -> HttpResponse:
    """Accept the current rows into the selection after an expression has changed them."""
    return _again(request, _get(request, selection))


@require_POST
@page(role="editor")
def fix(request: HtmxRequest, selection: UUID) -> HttpResponse:
    """Save the changed cells of the grid."""
    found = _get(request, selection)
    cells = _typed(found, {name: str(value) for name, value in request.POST.items() if name.startswith("cell|")})
    if not cells:
        messages.info(request, "No cell was changed.")
        return _to(request, found)
    try:
        done = decide(found, "fix", decider(request), request.POST.get("reason", ""), cells)
    except FlowError as error:
        return _show(request, found, error, "cells")
    _show_result(request, done.changed, done.excluded, "fixed")
    return _again(request, found)


def _typed(selection: Selection, given: dict[str, str]) -> dict[tuple[str, str], dict[str, str | None]]:
    """Return the changed cells. If another user has changed a row meanwhile, its revision differs and the row is
    skipped."""
    cells: dict[tuple[str, str], dict[str, str | None]] = {}
    by_key: dict[str, dict[str, str]] = {}
    for name, value in given.items():
        key, _, field = name.partition("|")[2].partition("|")
        by_key.setdefault(key, {})[field] = value
    for part in reach_parts(selection):
        ids = [row.id for row in part.rows if f"{row.run_id}:{row.row_id}" in by_key]
        for row in map(grid_row, part.rejects.entries(part.table, ids)):
            typed = [(row.cell(field), value) for field, value in by_key[row.key].items()]
            changed = {cell.name: cell.meant(value) for cell, value in typed if cell.is_other(value)}
            if changed:
                run, _, row_id = row.key.partition(":")
                cells[run, row_id] = changed
    return cells


@require_POST
@page(role="editor")
def compute(request: HtmxRequest, selection: UUID) -> HttpResponse:
    """Queue a run that sets a field of all rows to the value of an expression. Manually entered values stay unless the
    user chooses to replace them."""
    return _run(
        request,
        selection,
        RunKind.FIX,
        "compute",
        column=request.POST.get("field", ""),
        expression=request.POST.get("expression", ""),
        replace_typed="replace" in request.POST,
    )


@require_POST
@page(role="editor")
def recheck(request: HtmxRequest, selection: UUID) -> HttpResponse:
    return _run(request, selection, RunKind.RECHECK, "check")


@require_POST
@page(role="editor")
def replay(request: HtmxRequest, selection: UUID) -> HttpResponse:
    """Queue a replay. `overwrite` lists the keys of the selected rows that may replace target rows."""
    return _run(request, selection, RunKind.REPLAY, "replay", overwrite=request.POST.getlist("overwrite"))


@require_POST
@page(role="editor")
def change(request: HtmxRequest, selection: UUID) -> HttpResponse:
    """Ignore all rows, reopen ignored rows, or revert fixes."""
    found, verb = _get(request, selection), request.POST.get("verb", "")
    if verb not in VERBS:
        raise Http404("Unknown decision.")
    try:
        done = decide(found, cast("Any", verb), decider(request), request.POST.get("reason", ""))
    except FlowError as error:
        return _show(request, found, error, "leave")
    _show_result(request, done.changed, done.excluded, VERBS[verb])
    return _again(request, found)


@require_POST
@page(role="editor")
def work_on(request: HtmxRequest, run: UUID, row_id: str) -> HttpResponse:
    """Open a selection of one row."""
    return _to(request, choose_by_keys(request.workspace, [f"{run}:{row_id}"], decider(request)))


@require_GET
@page(role="editor")
def export(request: HtmxRequest) -> HttpResponseBase:
    require_values(request.role)
    kind = request.GET.get("file", "csv")
    if kind not in FORMATS:
        raise Http404("Unknown format.")
    return export_response(request, request.workspace, filters_of(request, request.GET), kind, decider(request))


@require_http_methods(["GET", "POST"])
@page(role="admin")
def purging(request: HtmxRequest) -> HttpResponse:
    """Show the retention and the audit log. Purging first shows the number of entries that it would delete."""
    context: dict[str, Any] = {
        "retention_days": retention_of(request.workspace),
        "audit_log": list_audit_log(request.workspace, DECISIONS_SHOWN),
    }
    if request.method == "POST":
        if "keep" in request.POST:
            days = request.POST.get("days", "")
            set_retention(request.workspace, _days_in(days) or None, decider(request))
            messages.success(request, "Retention saved.")
            return redirect("quarantine:purge", request.workspace.slug)
        filters, days = filters_of(request, request.POST), request.POST.get("older", "")
        reason = request.POST.get("reason", "").strip()
        count = _days_in(days)
        if count is None or not reason:
            raise FlowError(
                "reason.required",
                "A purge needs a number of days and a reason.",
                hint="Give a reason. It is stored.",
            )
        if "sure" in request.POST:
            done = purge(request.workspace, filters, count, decider(request), reason, seconds=SECONDS)
            rest = "" if done.is_whole else " so far. The purge continues; see below"
            messages.success(request, f"{done.entries:,} entries purged{rest}.")
            return redirect("quarantine:purge", request.workspace.slug)
        context |= {
            "to_purge": rows_to_purge(request.workspace, filters, count),
            "older": days,
            "reason": reason,
            "filters": filters,
        }
    return render_page(request, "quarantine/purge.html", context)


def _days_in(text: str) -> int | None:
    """Return the entered number of days; None if it is no number. A number with too many digits returns one above the
    limit."""
    if not text.isdecimal():
        return None
    return int(text) if len(text) < 10 else MOST_DAYS + 1


def decider(request: HtmxRequest) -> Decider:
    return Decider(str(request.user), request.user)


def _get(request: HtmxRequest, key: UUID) -> Selection:
    with contextlib.suppress(Selection.DoesNotExist):
        return Selection.objects.select_related("pipeline", "workspace").get(workspace=request.workspace, pk=key)
    raise Http404("Unknown selection.")


def _to(request: HtmxRequest, selection: Selection) -> HttpResponseRedirect:
    return redirect("quarantine:selection", request.workspace.slug, selection.pk)


def _again(request: HtmxRequest, selection: Selection) -> HttpResponse:
    """Update the revisions of the selection, because the user has just seen the changed rows."""
    parts = [
        {
            "connection": part.connection,
            "schema": part.table.schema,
            "table": part.table.table,
            "ids": [row.id for row in part.rows],
            "revisions": [row.revision for row in part.rows],
        }
        for part in reach_parts(selection)
    ]
    Selection.objects.filter(pk=selection.pk).update(parts=parts)
    return _to(request, selection)


def _run(request: HtmxRequest, key: UUID, kind: RunKind, at: str, **options: Any) -> HttpResponse:
    """Request a run over the selection. `at` is the part of the page that shows an error."""
    found = _get(request, key)
    reason = request.POST.get("reason", "")
    try:
        runs: list[Run] = ask_for_runs(kind, found, Trigger.MANUAL, decider(request), reason=reason, **options)
    except FlowError as error:
        return _show(request, found, error, at)
    for other in runs[1:]:
        messages.info(request, f"Run {other.number} takes the rows of {other.row_job.node}.")
    return redirect("runs:detail", request.workspace.slug, runs[0].pk)


def _show_result(request: HtmxRequest, changed: int, excluded: int, what: str) -> None:
    if changed:
        messages.success(request, f"{changed:,} {'row is' if changed == 1 else 'rows are'} {what}.")
    if excluded:
        messages.warning(
            request,
            f"{excluded:,} {'row was' if excluded == 1 else 'rows were'} not changed: changed in the meantime, or not "
            "allowed in the current status.",
        )
