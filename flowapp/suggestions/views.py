"""The page of a validate node's suggestions: proposals with their evidence, and its rules tried on samples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from executors.api import LEAST_ROWS
from executors.errors import Failure
from flowapp.accounts.access import page
from flowapp.accounts.roles import ROWS_VIEW
from flowapp.pipelines import drafts
from flowapp.pipelines.drafts import DraftView
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.suggestions.drafted import draft_to_sample
from flowapp.suggestions.selectors import (
    is_going_on,
    is_outdated,
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
from flowapp.web.errors import status_of
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError


@never_cache
@require_GET
@page(role=ROWS_VIEW)
def of_node(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    return _show(request, get_pipeline(request.workspace, slug), node)


def _show(request: HtmxRequest, pipeline: Pipeline, node: str) -> HttpResponse:
    """The page. What the draft lacks for a sample stands on it, with the way back to the editor."""
    view, sampling = drafts.view_draft(drafts.open_draft(pipeline, request.user)), last_sampling(pipeline)
    context: dict[str, Any] = {
        "pipeline": pipeline,
        "node_id": node,
        "sampling": sampling,
        "is_going_on": is_going_on(sampling),
    }
    status = 200
    try:
        held = node_of(view, node)
        context |= _samples(view, node, held)
    except FlowError as error:
        context["error"] = error
        status = 200 if isinstance(error, Failure) or error.code == "sample.not_ready" else status_of(error)
    return render_page(request, "suggestions/node.html", context, fragment="suggestions/_now.html", status=status)


def _samples(view: DraftView, node: str, held: Mapping[str, Any]) -> dict[str, Any]:
    """Samples, what they speak for, and what the draft's rules would hit in them. Raises FlowError."""
    target, document, not_ready = target_of(view, node), "", None
    try:
        document = draft_to_sample(view, node)
    except FlowError as error:
        not_ready = error
    samples = list_samples(view.draft.pipeline, target)
    tried = [(spec, asks(spec), try_on_samples(rule, samples, target)) for spec, rule in rules_of(held)]
    proposals = [(p, asks(p.spec), json.dumps(p.spec, ensure_ascii=False)) for p in list_proposals(samples, held)]
    return {
        "target": target,
        "samples": samples,
        "tried": tried,
        "proposals": proposals,
        "least_rows": LEAST_ROWS,
        "can_sample": not not_ready,
        "not_ready": not_ready,
        "is_outdated": bool(samples and document) and is_outdated(samples[0], document),
    }


@require_POST
@page(role=ROWS_VIEW)
def sample(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    """Look at the source anew, in a worker."""
    pipeline = get_pipeline(request.workspace, slug)
    try:
        document = draft_to_sample(drafts.view_draft(drafts.open_draft(pipeline, request.user)), node)
    except FlowError as error:
        messages.error(request, f"{error.message} {error.hint}")
    else:
        take_sample(pipeline, Trigger.MANUAL, user=request.user, draft_document=document)
    return redirect("suggestions:node", request.workspace.slug, slug, node)


@require_POST
@page(role=ROWS_VIEW)
def take(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    """Put one proposal into the draft."""
    pipeline = get_pipeline(request.workspace, slug)
    try:
        spec = json.loads(request.POST.get("spec", ""))
    except (ValueError, RecursionError):
        raise FlowError("rule.invalid", "The rule is not valid JSON.", hint="Load the page again.") from None
    accept(drafts.open_draft(pipeline, request.user), node, spec, request.POST.get("check", ""))
    messages.success(request, f"Added to your draft of {slug}. Save the pipeline to use it in runs.")
    return redirect("suggestions:node", request.workspace.slug, slug, node)
