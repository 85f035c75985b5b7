"""The page of a validate node's suggestions: proposals with their evidence, and its rules tried on samples."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.db import transaction
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
    SOURCE,
    columns_left_out,
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
    """Render the page. If the draft lacks something that a sample needs, the page says so and links to the editor."""
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
    """Return samples, their suggestions, and the number of rows that violate the draft's rules. Raises FlowError."""
    target, document, not_ready = target_of(view, node), "", None
    try:
        document = draft_to_sample(view, node)
    except FlowError as error:
        not_ready = error
    samples = list_samples(view.draft.pipeline, target)
    tried = [(spec, asks(spec), try_on_samples(rule, samples, target)) for spec, rule in rules_of(held)]
    proposals = [(p, asks(p.spec), _json(p.spec), _json([p.spec, p.check])) for p in list_proposals(samples, held)]
    return {
        "target": target,
        "samples": samples,
        "tried": tried,
        "proposals": proposals,
        "least_rows": LEAST_ROWS,
        "can_sample": not not_ready,
        "not_ready": not_ready,
        "left_out": columns_left_out(document) if document and samples and samples[0].kind == SOURCE else (),
        "is_outdated": bool(samples and document) and is_outdated(samples[0], document),
    }


@require_POST
@page(role=ROWS_VIEW)
def sample(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    """Queue a run that samples the source again."""
    pipeline = get_pipeline(request.workspace, slug)
    try:
        document = draft_to_sample(drafts.view_draft(drafts.open_draft(pipeline, request.user)), node)
    except FlowError as error:
        messages.error(request, f"{error.message} {error.hint}")
    else:
        take_sample(pipeline, Trigger.MANUAL, user=request.user, draft_document=document)
    return redirect("suggestions:node", request.workspace.slug, slug, node)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@require_POST
@page(role=ROWS_VIEW)
def take(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    """Add one suggestion to the draft."""
    pipeline = get_pipeline(request.workspace, slug)
    spec = _read(request.POST.get("spec", ""))
    accept(drafts.open_draft(pipeline, request.user), node, spec, request.POST.get("check", ""))
    messages.success(request, f"Added to your draft of {slug}. Save the pipeline to use it in runs.")
    return redirect("suggestions:node", request.workspace.slug, slug, node)


@require_POST
@page(role=ROWS_VIEW)
def take_selected(request: HtmxRequest, slug: str, node: str) -> HttpResponse:
    """Add the selected proposals of the page to the draft, all or none."""
    pipeline = get_pipeline(request.workspace, slug)
    offered, selected = request.POST.getlist("offered"), set(request.POST.getlist("proposal"))
    chosen = [_read(offer) for number, offer in enumerate(offered) if str(number) in selected]
    with transaction.atomic():
        for offer in chosen:
            spec, check = offer if isinstance(offer, list) and len(offer) == 2 else (None, "")
            accept(drafts.open_draft(pipeline, request.user), node, spec, str(check))
    if chosen:
        messages.success(
            request, f"Added {len(chosen)} to your draft of {slug}. Save the pipeline to use them in runs."
        )
    else:
        messages.warning(request, "Nothing is selected.")
    return redirect("suggestions:node", request.workspace.slug, slug, node)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise FlowError("rule.invalid", "The rule is not valid JSON.", hint="Load the page again.") from None
