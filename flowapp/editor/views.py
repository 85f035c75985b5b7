"""The list of pipelines, and the switches of a pipeline. `editing` has the editor's pages."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from flowapp.accounts.access import page
from flowapp.accounts.models import User
from flowapp.cleanup.services import describe_deletion
from flowapp.editor.listing import NOT_RUN, Filters, PipelineRow, is_favourite, list_rows, list_tags, newest_runs
from flowapp.lists.services import filter_query
from flowapp.pipelines.copies import duplicate_pipeline
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline, list_pipelines
from flowapp.pipelines.services import (
    set_archived,
    set_enabled,
    set_favourite,
    set_paused,
)
from flowapp.quarantine.purging import retention_of
from flowapp.runs.models import State
from flowapp.web.htmx import HtmxRequest, render_page, toast
from ir.errors import FlowError
from ir.load_modes import LOAD_MODES


@require_GET
@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    filters = Filters.read(request.GET)
    page_of = list_rows(request.workspace, filters, request.GET.get("cursor", ""), request.user)
    context = {
        "page": page_of,
        "filters": filters,
        "tags": list_tags(request.workspace),
        "modes": list(LOAD_MODES),
        "states": [(NOT_RUN, "never run"), *((state.value, state.label.capitalize()) for state in State)],
        "sorting": filters.sorting,
        "query": filter_query(request.GET.urlencode()),
        "has_any": bool(page_of.rows) or list_pipelines(request.workspace, archived=None).exists(),
    }
    return render_page(request, "pipelines/list.html", context, fragment="pipelines/_table.html")


SWITCHES = {"enabled": set_enabled, "paused": set_paused}
CONFIRMATIONS = {
    ("enabled", True): "{} is enabled.",
    ("enabled", False): "{} is disabled.",
    ("paused", True): "The schedule of {} is paused.",
    ("paused", False): "The schedule of {} is resumed.",
}
"""The confirmation by switch and new value."""


@require_POST
@page("editor")
def switch(request: HtmxRequest, slug: str) -> HttpResponse:
    """Set the switch `what`. Without htmx, redirect to the page that contains the switch."""
    pipeline = get_pipeline(request.workspace, slug)
    what, value = request.POST.get("what", ""), request.POST.get("value") == "on"
    if what not in SWITCHES:
        raise FlowError("switch.unknown", f"Unknown switch {what!r}.", hint=f"Switches: {', '.join(SWITCHES)}.")
    SWITCHES[what](pipeline, value)
    pipeline.refresh_from_db()
    text = CONFIRMATIONS[what, value].format(pipeline.name or pipeline.slug)
    if request.htmx:
        return toast(render_page(request, "pipelines/_row.html", {"row": _row(pipeline, request.user)}), text)
    messages.success(request, text)
    if request.POST.get("from") == "schedule":
        return HttpResponseRedirect(
            reverse("pipelines:edit", args=[request.workspace.slug, slug], query={"tab": "schedule"})
        )
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))


def _row(pipeline: Pipeline, user: User) -> PipelineRow:
    return PipelineRow(pipeline, newest_runs({pipeline.pk: None})[pipeline.pk], is_favourite(pipeline, user))


@require_POST
@page()
def favourite(request: HtmxRequest, slug: str) -> HttpResponse:
    """Add a pipeline to the user's favourites or remove it. All roles may do this."""
    pipeline = get_pipeline(request.workspace, slug)
    set_favourite(pipeline, request.user, request.POST.get("value") == "on")
    if request.htmx:
        return render_page(request, "pipelines/_row.html", {"row": _row(pipeline, request.user)})
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))


@require_POST
@page("editor")
def duplicate(request: HtmxRequest, slug: str) -> HttpResponse:
    """Copy the newest version and open the copy."""
    copy = duplicate_pipeline(get_pipeline(request.workspace, slug), request.user, role=request.role)
    messages.warning(
        request,
        f"This is a copy of {slug}. It loads the same tables until you change its targets. Its schedule is paused.",
    )
    return HttpResponseRedirect(reverse("pipelines:edit", args=[request.workspace.slug, copy.slug]))


@require_POST
@page("editor")
def archive(request: HtmxRequest, slug: str) -> HttpResponse:
    """Archive a pipeline, or restore it from the archive."""
    pipeline, archived = get_pipeline(request.workspace, slug), request.POST.get("value") == "on"
    set_archived(pipeline, archived)
    messages.success(request, f"{pipeline.name or slug} is {'archived' if archived else 'restored'}.")
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))


@require_http_methods(["GET", "POST"])
@page("editor")
def delete(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show what the deletion deletes and what it does not delete. After confirmation, delete the pipeline."""
    pipeline = get_pipeline(request.workspace, slug)
    if request.method == "GET":
        context = {
            "pipeline": pipeline,
            "deletion": describe_deletion(pipeline),
            "retention_days": retention_of(request.workspace),
        }
        return render_page(request, "pipelines/delete.html", context)
    delete_pipeline(pipeline)
    messages.success(request, f"Pipeline {slug} deleted with its versions and runs.")
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))
