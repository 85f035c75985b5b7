"""Actions on the pipelines that are selected in the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http import HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from flowapp.accounts.access import page
from flowapp.cleanup.services import describe_deletion
from flowapp.lists.selected import apply_to_each, list_before, require_here, selected_names
from flowapp.pipelines.copies import add_tag, require_tag
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import list_pipelines
from flowapp.pipelines.services import set_archived, set_enabled, set_paused
from flowapp.quarantine.purging import retention_of
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError

Action = Callable[[HtmxRequest, Pipeline], object]

ACTIONS: dict[str, tuple[Action, str]] = {
    "run": (lambda request, one: queue_run(one, Trigger.MANUAL, user=request.user), "queued to run"),
    "pause": (lambda request, one: set_paused(one, True), "paused"),
    "resume": (lambda request, one: set_paused(one, False), "resumed"),
    "enable": (lambda request, one: set_enabled(one, True), "enabled"),
    "disable": (lambda request, one: set_enabled(one, False), "disabled"),
    "archive": (lambda request, one: set_archived(one, True), "archived"),
    "unarchive": (lambda request, one: set_archived(one, False), "restored"),
    "tag": (
        lambda request, one: add_tag(one, request.POST.get("tag", ""), request.user, role=request.role),
        "tagged",
    ),
}
"""The functions that process each selected pipeline, with the participle of the confirmation."""


@require_POST
@page("editor")
def act(request: HtmxRequest) -> HttpResponse:
    """Apply an action to each selected pipeline. A refusal for one pipeline does not affect the others."""
    pipelines, name = _selected(request, request.POST), request.POST.get("action", "")
    if name == "delete":
        chosen = QueryDict(mutable=True)
        chosen.setlist("pipeline", [pipeline.slug for pipeline in pipelines])
        address = reverse("pipelines:delete_selected", args=[request.workspace.slug])
        return HttpResponseRedirect(f"{address}?{chosen.urlencode()}")
    if name not in ACTIONS:
        raise FlowError("action.unknown", f"Unknown action {name!r}.", hint=f"Actions: {', '.join(ACTIONS)}, delete.")
    if name == "tag":
        require_tag(request.POST.get("tag", ""))
    action, done = ACTIONS[name]
    _apply(request, pipelines, lambda pipeline: action(request, pipeline), done)
    return HttpResponseRedirect(list_before(request, "pipelines:list"))


@require_http_methods(["GET", "POST"])
@page("editor")
def delete(request: HtmxRequest) -> HttpResponse:
    """Show what the deletion of the selected pipelines deletes. After confirmation, delete them."""
    pipelines = _selected(request, request.GET if request.method == "GET" else request.POST)
    if request.method == "GET":
        deletions = [(pipeline, describe_deletion(pipeline)) for pipeline in pipelines]
        context = {"deletions": deletions, "retention_days": retention_of(request.workspace)}
        return render_page(request, "pipelines/delete_selected.html", context)
    _apply(request, pipelines, delete_pipeline, "deleted with versions and runs")
    return HttpResponseRedirect(reverse("pipelines:list", args=[request.workspace.slug]))


def _selected(request: HtmxRequest, data: QueryDict) -> list[Pipeline]:
    """Return the selected pipelines of this workspace. Raises FlowError."""
    slugs = selected_names(data.getlist("pipeline"), "pipeline")
    found = list(list_pipelines(request.workspace, archived=None).filter(slug__in=slugs).select_related("workspace"))
    require_here(request, len(set(slugs)), len(found), "pipeline", "pipeline.unknown")
    return found


def _apply(
    request: HtmxRequest, pipelines: Sequence[Pipeline], action: Callable[[Pipeline], object], done: str
) -> None:
    apply_to_each(request, [(pipeline.slug, pipeline) for pipeline in pipelines], action, "pipeline", done)
