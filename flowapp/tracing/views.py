"""The page "Where did my row go?". The entered values are row values, so forms send them by POST and no URL contains
them."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from executors.target_database import SEARCH_SECONDS
from flowapp.accounts.access import page
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.pipelines.selectors import find_pipeline, get_pipeline, list_pipeline_names
from flowapp.tracing.forms import TraceForm
from flowapp.tracing.selectors import list_targets, trace_row
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError


@require_GET
@page(role=ROWS_VIEW)
def home(request: HtmxRequest) -> HttpResponse:
    """Show the form, or let the user choose a pipeline first."""
    if text := request.GET.get("pipeline", ""):
        return redirect("tracing:pipeline", request.workspace.slug, find_pipeline(request.workspace, text).slug)
    names = list_pipeline_names(request.workspace, with_version=True)
    return render_page(request, "tracing/home.html", {"names": names})


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
@page(role=ROWS_VIEW)
def of_pipeline(request: HtmxRequest, slug: str) -> HttpResponse:
    pipeline = get_pipeline(request.workspace, slug)
    targets = list_targets(pipeline)
    columns = list(dict.fromkeys(name for _, names in targets for name in names))
    key = list(targets[0][0].upsert_key or ()) if targets else []
    form = TraceForm(request.POST or None, [target.id for target, _ in targets], columns, key)
    context = {"pipeline": pipeline, "form": form, "columns": columns, "seconds": SEARCH_SECONDS}
    if request.method == "POST" and form.is_valid():
        try:
            context["traces"] = trace_row(pipeline, form.key(), form.cleaned_data.get("target", ""))
        except FlowError as error:
            form.add_error(None, f"{error.message} {error.hint}")
    return render_page(request, "tracing/pipeline.html", context, status=422 if form.errors else 200)
