"""The list of pipelines, new ones, and the switches of a pipeline. The editor's pages are in `editing`."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from flowapp.accounts.access import page
from flowapp.cleanup.services import what_goes
from flowapp.editor.forms import NewPipeline
from flowapp.editor.listing import NOT_RUN, Filters, PipelineRow, list_rows, list_tags, newest_runs
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline, list_pipelines
from flowapp.pipelines.services import create_pipeline, set_enabled, set_paused
from flowapp.quarantine.purging import retention_of
from flowapp.runs.models import State
from flowapp.web.htmx import HtmxRequest, render_page, toast
from ir.errors import FlowError
from ir.load_modes import LOAD_MODES

SORTS = (("name", "Name"), ("run", "Last run"), ("next", "Next run"))


@require_http_methods(["GET", "POST"])
def list_page(request: HtmxRequest, workspace: str) -> HttpResponse:
    view = create if request.method == "POST" else listing
    return view(request, workspace=workspace)


@page()
def listing(request: HtmxRequest) -> HttpResponse:
    return _render(request, NewPipeline(), is_new="new" in request.GET)


@page("editor")
def create(request: HtmxRequest) -> HttpResponse:
    form = NewPipeline(request.POST)
    if form.is_valid():
        try:
            pipeline = create_pipeline(request.workspace, form.cleaned_data["slug"], form.cleaned_data["name"])
        except FlowError as error:
            form.add_error("slug", f"{error.message} {error.hint}")
        else:
            return HttpResponseRedirect(reverse("pipelines:edit", args=[request.workspace.slug, pipeline.slug]))
    return _render(request, form, is_new=True, status=422)


def _render(request: HtmxRequest, form: NewPipeline, *, is_new: bool, status: int = 200) -> HttpResponse:
    filters = Filters.read(request.GET)
    page_of = list_rows(request.workspace, filters, request.GET.get("cursor", ""))
    has_any = bool(page_of.rows) or list_pipelines(request.workspace).exists()
    context = {
        "page": page_of,
        "filters": filters,
        "tags": list_tags(request.workspace),
        "modes": list(LOAD_MODES),
        "states": [(NOT_RUN, "never run"), *((state.value, state.label.capitalize()) for state in State)],
        "sorts": SORTS,
        "has_any": has_any,
        "form": form,
        "is_new": is_new or not has_any,
    }
    return render_page(request, "pipelines/list.html", context, fragment="pipelines/_table.html", status=status)


SWITCHES = {"enabled": set_enabled, "paused": set_paused}
CONFIRMATIONS = {
    ("enabled", True): "{} is enabled.",
    ("enabled", False): "{} is disabled.",
    ("paused", True): "The schedule of {} is paused.",
    ("paused", False): "The schedule of {} is resumed.",
}
"""What a switch and its new value are told as."""


@require_POST
@page("editor")
def switch(request: HtmxRequest, slug: str) -> HttpResponse:
    """Switch on or off what `what` names; without htmx back to where the switch was."""
    pipeline = get_pipeline(request.workspace, slug)
    what, value = request.POST.get("what", ""), request.POST.get("value") == "on"
    if what not in SWITCHES:
        raise FlowError("switch.unknown", f"Unknown switch {what!r}.", hint=f"Switches: {', '.join(SWITCHES)}.")
    SWITCHES[what](pipeline, value)
    pipeline.refresh_from_db()
    text = CONFIRMATIONS[what, value].format(pipeline.name or pipeline.slug)
    if request.htmx:
        return toast(render_page(request, "pipelines/_row.html", {"row": _row(pipeline)}), text)
    messages.success(request, text)
    if request.POST.get("from") == "schedule":
        return HttpResponseRedirect(
            reverse("pipelines:edit", args=[request.workspace.slug, slug], query={"tab": "schedule"})
        )
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))


def _row(pipeline: Pipeline) -> PipelineRow:
    return PipelineRow(pipeline, newest_runs({pipeline.pk: None})[pipeline.pk])


@require_http_methods(["GET", "POST"])
@page("editor")
def delete(request: HtmxRequest, slug: str) -> HttpResponse:
    """What would go and what would stay; then the deletion itself."""
    pipeline = get_pipeline(request.workspace, slug)
    if request.method == "GET":
        context = {"pipeline": pipeline, "deletion": what_goes(pipeline), "kept_days": retention_of(request.workspace)}
        return render_page(request, "pipelines/delete.html", context)
    delete_pipeline(pipeline)
    messages.success(request, f"Pipeline {slug} deleted with its versions and runs.")
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))
