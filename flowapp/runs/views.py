"""The run pages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from executors.errors import Failure
from flowapp.accounts.access import page
from flowapp.accounts.roles import ROWS_VIEW, may_see_values
from flowapp.accounts.services import note_opened_result
from flowapp.lists.selected import apply_to_each, list_before, require_here, selected_names
from flowapp.lists.services import filter_query
from flowapp.pipelines.selectors import get_pipeline, list_pipeline_names
from flowapp.runs.durations import seconds_of
from flowapp.runs.forms import RunFilter
from flowapp.runs.holds import Decider, approve_run, discard_run
from flowapp.runs.hooks import ask_for_hook
from flowapp.runs.loaded_tables import first_rows_of, get_loaded_table
from flowapp.runs.models import COUNTED, LOADED, Run, Trigger
from flowapp.runs.presenting import present_run
from flowapp.runs.rule_names import rule_name
from flowapp.runs.run_kinds import run_kind_of
from flowapp.runs.selectors import COLUMNS, get_run, list_runs, sum_loads, with_sort_values
from flowapp.runs.services import cancel_run, queue_preview, queue_run, retry_missing
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import is_value_of, take_page
from flowapp.web.sorting import read_sorting

NOT_COUNTED = {"loaded": None, "rejected": None}
"""The counts of a run without counts."""


@require_GET
@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    form = RunFilter(request.workspace, request.GET)
    filters = form.filters()
    sorting = read_sorting(request.GET.get("sort", ""), COLUMNS)
    runs = form.apply(with_sort_values(list_runs(request.workspace, **filters)))
    found = take_page(runs, request.GET.get("cursor", ""), sorting.order)
    loads = sum_loads(found.rows)
    is_filtered = bool(filters) or not form.is_valid()
    context = {
        "form": form,
        "is_filtered": is_filtered,
        "has_any": is_filtered or bool(found.rows) or "cursor" in request.GET,
        "found": found,
        "sorting": sorting,
        "query": filter_query(request.GET.urlencode()),
        "rows": [(run, run_kind_of(run).tag, loads.get(run.pk, NOT_COUNTED), seconds_of(run)) for run in found.rows],
        "names": list_pipeline_names(request.workspace),
    }
    return render_page(request, "runs/list.html", context, fragment="runs/_rows.html")


@require_GET
@page()
def detail(request: HtmxRequest, run: UUID) -> HttpResponse:
    """Show a run; for htmx, only the part that changes during the run."""
    found = get_run(request.workspace, run)
    if found.kind in COUNTED and found.state in LOADED:
        note_opened_result(request.membership)
    spec, sees_values = run_kind_of(found), may_see_values(request.role)
    context = present_run(found, sees_values=sees_values)
    names = {r["rule"]: rule_name(r["rule"], r["type"], r["field"]) for r in context["document"]["rules"]}
    context |= {"fragment": spec.fragment, "sees_values": sees_values, "rule_names": names}
    context |= spec.page_context(request, found)
    return render_page(request, spec.page, context, fragment=spec.fragment)


@never_cache
@require_GET
@page(role=ROWS_VIEW)
def table(request: HtmxRequest, run: UUID, node: str) -> HttpResponse:
    """Show the current first rows of a table that the run loaded."""
    found = get_run(request.workspace, run)
    context: dict[str, Any] = {"run": found, "table": (loaded := get_loaded_table(found, node))}
    try:
        return render_page(request, "runs/table.html", {**context, "found": first_rows_of(found, loaded)})
    except Failure as error:
        return render_page(request, "runs/table.html", {**context, "error": error}, status=status_of(error))


@require_POST
@page(role="editor")
def start(request: HtmxRequest, slug: str) -> HttpResponse:
    """Queue a run of the newest version. With `load_again`, a reason, it loads everything again."""
    pipeline = get_pipeline(request.workspace, slug)
    reason = request.POST.get("load_again", "").strip()
    run = queue_run(pipeline, Trigger.MANUAL, load_again=reason or None, user=request.user)
    return redirect("runs:detail", request.workspace.slug, run.pk)


@require_POST
@page(role="editor")
def preview(request: HtmxRequest, slug: str) -> HttpResponse:
    """Queue a preview of the newest version."""
    run = queue_preview(get_pipeline(request.workspace, slug), Trigger.MANUAL, user=request.user)
    return redirect("runs:detail", request.workspace.slug, run.pk)


@require_POST
@page(role="editor")
def run_hook(request: HtmxRequest, run: UUID, hook: str) -> HttpResponse:
    """Queue a post-hook to be rerun."""
    hook_run = ask_for_hook(get_run(request.workspace, run), hook)
    messages.success(request, f"The hook {hook_run.id} is queued to run again.")
    return redirect("runs:detail", request.workspace.slug, run)


@require_POST
@page(role="editor")
def retry(request: HtmxRequest, run: UUID) -> HttpResponse:
    """Queue a run that loads the missing targets of a partially loaded run."""
    queued = retry_missing(get_run(request.workspace, run), Trigger.MANUAL, user=request.user)
    return redirect("runs:detail", request.workspace.slug, queued.pk)


@require_POST
@page(role="editor")
def cancel(request: HtmxRequest, run: UUID) -> HttpResponse:
    found = cancel_run(get_run(request.workspace, run))
    messages.success(request, f"{found.title} is being cancelled.")
    return redirect("runs:detail", request.workspace.slug, found.pk)


@require_POST
@page(role="editor")
def cancel_selected(request: HtmxRequest) -> HttpResponse:
    """Cancel the runs selected in the list."""
    given = set(selected_names(request.POST.getlist("run"), "run"))
    keys = [key for key in given if is_value_of(Run._meta.pk, key)]
    runs = [(run.name, run) for run in list_runs(request.workspace).filter(pk__in=keys)]
    require_here(request, len(given), len(runs), "run", "run.unknown")
    apply_to_each(request, runs, cancel_run, "run", "being cancelled")
    return redirect(list_before(request, "runs:list"))


@require_POST
@page(role="editor")
def approve(request: HtmxRequest, run: UUID) -> HttpResponse:
    """Load the staged rows of a held run. Editors may approve, because they may also change the limits."""
    reason = request.POST.get("reason", "").strip()
    found = approve_run(get_run(request.workspace, run), _decider(request), reason)
    messages.success(request, f"Run {found.number} is approved. A worker loads the staged rows.")
    return redirect("runs:detail", request.workspace.slug, found.pk)


@require_POST
@page(role="editor")
def discard(request: HtmxRequest, run: UUID) -> HttpResponse:
    found = discard_run(get_run(request.workspace, run), _decider(request), request.POST.get("reason", ""))
    messages.success(request, f"Run {found.number} is discarded. {found.error_hint}")
    return redirect("runs:detail", request.workspace.slug, found.pk)


def _decider(request: HtmxRequest) -> Decider:
    return Decider(str(request.user), request.user)
