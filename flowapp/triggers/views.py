"""The page of a pipeline's triggers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.accounts.models import User
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.triggers.models import EventTrigger
from flowapp.triggers.selectors import get_trigger, list_changes, list_triggers
from flowapp.triggers.serializers import url_of
from flowapp.triggers.services import add_trigger, remove_trigger, rotate_trigger
from flowapp.web.htmx import HtmxRequest
from ir.errors import FlowError


@require_GET
@page()
def listing(request: HtmxRequest, slug: str) -> HttpResponse:
    return _show(request, get_pipeline(request.workspace, slug))


@never_cache
@require_POST
@page("editor")
def add(request: HtmxRequest, slug: str) -> HttpResponse:
    """Add a trigger. Its secret is only in this response."""
    pipeline, given = get_pipeline(request.workspace, slug), request.POST
    user = request.user if isinstance(request.user, User) else None
    name = given.get("name", "").strip()
    try:
        trigger, secret = add_trigger(pipeline, name, given.get("if_busy", "wait"), str(request.user), user)
    except FlowError as error:
        return _show(request, pipeline, status=422, name=name, error=f"{error.message} {error.hint}")
    return _show(request, pipeline, made=trigger, secret=secret)


@never_cache
@require_POST
@page("editor")
def rotate(request: HtmxRequest, slug: str, trigger: UUID) -> HttpResponse:
    """Replace the secret. The new one is only in this response."""
    pipeline = get_pipeline(request.workspace, slug)
    found = get_trigger(pipeline, key=trigger)
    return _show(request, pipeline, made=found, secret=rotate_trigger(found, str(request.user)))


@require_POST
@page("editor")
def remove(request: HtmxRequest, slug: str, trigger: UUID) -> HttpResponse:
    found = get_trigger(get_pipeline(request.workspace, slug), key=trigger)
    remove_trigger(found, str(request.user))
    messages.success(request, f"Trigger {found.name} removed.")
    return redirect("triggers:list", request.workspace.slug, slug)


def _show(request: HtmxRequest, pipeline: Pipeline, status: int = 200, **more: Any) -> HttpResponse:
    triggers = list(list_triggers(pipeline))
    context = {"pipeline": pipeline, "triggers": triggers, "changes": list_changes(pipeline), **more}
    context["url"] = _example_url(more.get("made"), triggers)
    return render(request, "triggers/list.html", context, status=status)


def _example_url(made: EventTrigger | None, triggers: list[EventTrigger]) -> str:
    """Return the URL for the example: of the new trigger, else of the first one."""
    shown = made or next(iter(triggers), None)
    return url_of(shown) if shown else ""
