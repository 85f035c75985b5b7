"""The page of a validate node's suggestions: proposals with their evidence, and its rules tried on samples."""

from __future__ import annotations

import json
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from executors.errors import Failure
from flowapp.pipelines import drafts
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.values import ROWS_VIEW
from flowapp.runs.models import Trigger
from flowapp.suggestions.selectors import (
    is_going_on,
    last_sampling,
    list_proposals,
    list_samples,
    node_of,
    rules_of,
    target_of,
    try_on_samples,
)
from flowapp.suggestions.services import accept, take_sample
from flowapp.suggestions.wording import asks
from flowapp.web.access import page
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError


@never_cache
@require_GET
@page(role=ROWS_VIEW)
def of_node(request: HtmxRequest, ident: str, node: str) -> HttpResponse:
    pipeline = get_pipeline(request.workspace, ident)
    view = drafts.view_draft(drafts.open_draft(pipeline, request.user))
    target, held, sampling = target_of(view, node), node_of(view, node), last_sampling(pipeline)
    context: dict[str, Any] = {
        "pipeline": pipeline, "node_id": node, "target": target, "sampling": sampling,
        "is_going_on": is_going_on(sampling), "is_saved": pipeline.versions.exists(),
    }  # fmt: skip
    try:
        samples = list_samples(pipeline, target)
    except Failure as error:
        context["error"] = error
    else:
        tried = [(spec, asks(spec), try_on_samples(rule, samples, target)) for spec, rule in rules_of(held)]
        proposals = [(p, asks(p.spec), json.dumps(p.spec, ensure_ascii=False)) for p in list_proposals(samples, held)]
        context |= {"samples": samples, "tried": tried, "proposals": proposals}
    return render_page(request, "suggestions/node.html", context, fragment="suggestions/_now.html")


@require_POST
@page(role=ROWS_VIEW)
def sample(request: HtmxRequest, ident: str, node: str) -> HttpResponse:
    """Look at the source anew, in a worker."""
    take_sample(get_pipeline(request.workspace, ident), Trigger.MANUAL, user=request.user)
    return redirect("suggestions:node", request.workspace.slug, ident, node)


@require_POST
@page(role=ROWS_VIEW)
def take(request: HtmxRequest, ident: str, node: str) -> HttpResponse:
    """Put one proposal into the draft."""
    pipeline = get_pipeline(request.workspace, ident)
    try:
        spec = json.loads(request.POST.get("spec", ""))
    except (ValueError, RecursionError):
        raise FlowError("rule.invalid", "The rule is no JSON.", hint="Load the page again.") from None
    accept(drafts.open_draft(pipeline, request.user), node, spec, request.POST.get("check", ""))
    messages.success(request, f"It is in your draft of {ident} now. Save the pipeline to let runs ask it.")
    return redirect("suggestions:node", request.workspace.slug, ident, node)
