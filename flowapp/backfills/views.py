"""The page of a backfill: a map of its chunks, its speed, and what people can do with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.backfills.chunk_map import ORDER, map_chunks
from flowapp.backfills.models import Backfill, BackfillAction, Chunk, ChunkStatus
from flowapp.backfills.progress import get_progress
from flowapp.backfills.selectors import list_changed
from flowapp.backfills.services import Actor, load_outdated_again, pause, resume, retry_failed, rewind
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.runs.models import Trigger
from flowapp.runs.services import queue_run
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page

MOST_ACTIONS = 50
MOST_CHANGED = 20


@require_GET
@page()
def detail(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show a backfill; for htmx, only the part that changes while it goes on."""
    pipeline = get_pipeline(request.workspace, slug)
    progress = get_progress(pipeline)
    context: dict[str, Any] = {"pipeline": pipeline, "progress": progress, "backfill": progress.backfill}
    if progress.backfill is not None:
        context |= _chunks_of(request, progress.backfill)
        # Without a plan there is nothing to load again, except after a plan that has failed.
        context["can_rewind"] = progress.backfill.planned_at is not None or not progress.is_active
    return render_page(request, "backfills/detail.html", context, fragment="backfills/_live.html")


def _chunks_of(request: HtmxRequest, backfill: Backfill) -> dict[str, Any]:
    chunks = backfill.chunks.select_related("run")
    status, first, last = (request.GET.get(name, "") for name in ("status", "first", "last"))
    if status in ChunkStatus.values:
        chunks = chunks.filter(status=status)
    if first.isdecimal() and last.isdecimal() and len(first + last) < 20:
        chunks = chunks.filter(ordinal__gte=int(first), ordinal__lte=int(last))
    return {
        "map": map_chunks(backfill),
        "found": take_page(chunks, request.GET.get("cursor", ""), ("ordinal",)),
        "status": status,
        "statuses": ORDER,
        "line": (first, last) if first and last else None,
        "changed": list_changed(backfill)[:MOST_CHANGED],
        "actions": BackfillAction.objects.filter(pipeline=backfill.pipeline).order_by("-at", "-id")[:MOST_ACTIONS],
        "earlier": Chunk.objects.filter(pipeline=backfill.pipeline, status=ChunkStatus.SUPERSEDED).count(),
    }


@require_POST
@page(role="editor")
def start_backfill(request: HtmxRequest, slug: str) -> HttpResponse:
    """Start the backfill, or continue one whose run has ended."""
    queue_run(get_pipeline(request.workspace, slug), Trigger.MANUAL, user=request.user)
    messages.success(request, "The backfill starts as soon as a worker is free.")
    return redirect("backfills:detail", request.workspace.slug, slug)


@require_POST
@page(role="editor")
def pause_backfill(request: HtmxRequest, slug: str) -> HttpResponse:
    return _act(request, slug, pause, "Paused. Chunks that are running finish.")


@require_POST
@page(role="editor")
def resume_backfill(request: HtmxRequest, slug: str) -> HttpResponse:
    return _act(request, slug, resume, "The backfill goes on.")


@require_POST
@page(role="editor")
def retry_backfill(request: HtmxRequest, slug: str) -> HttpResponse:
    return _act(request, slug, retry_failed, "The failed chunks are loaded again.")


@require_POST
@page(role="editor")
def load_outdated(request: HtmxRequest, slug: str) -> HttpResponse:
    return _act(request, slug, load_outdated_again, "The chunks of earlier versions are loaded again.")


@require_POST
@page(role="editor")
def rewind_backfill(request: HtmxRequest, slug: str) -> HttpResponse:
    """Load a range of the history again."""
    lower, upper = (request.POST.get(name, "").strip() or None for name in ("from", "to"))
    pipeline = get_pipeline(request.workspace, slug)
    rewind(pipeline, lower, upper, _actor(request), request.POST.get("reason", ""))
    messages.success(request, "A run plans the chunks of the range, and loads them.")
    return redirect("backfills:detail", request.workspace.slug, slug)


def _act(request: HtmxRequest, slug: str, act: Callable[[Pipeline, Actor, str], Backfill], words: str) -> HttpResponse:
    act(get_pipeline(request.workspace, slug), _actor(request), request.POST.get("reason", ""))
    messages.success(request, words)
    return redirect("backfills:detail", request.workspace.slug, slug)


def _actor(request: HtmxRequest) -> Actor:
    return Actor(str(request.user), Trigger.MANUAL, request.user)
