"""The health pages, and the widget of the top bar."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.accounts.models import Workspace
from flowapp.alerts.kinds import KINDS
from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.selectors import NEWEST_FIRST, get_alert, get_light, list_alerts
from flowapp.alerts.services import acknowledge, resolve
from flowapp.health.forms import AlertFilter
from flowapp.health.trends import list_trends
from flowapp.pipelines.selectors import list_pipeline_names
from flowapp.processes.parts import health_document
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.paging import take_page

MOST_ALERTS = 50
HIDDEN: dict[str, Any] = {"alerts": [], "hides_alerts": True}


@never_cache
@require_GET
@page()
def home(request: HtmxRequest) -> HttpResponse:
    """Show unresolved alerts and the state of all parts; htmx requests get only the changing part.

    With a pipeline filter, the page shows the alert history of that pipeline."""
    form = AlertFilter(request.workspace, request.GET)
    filters = form.filters()
    state, pipeline = filters.pop("state", ""), filters["pipeline"].slug if "pipeline" in filters else ""
    context = {
        "parts": health_document(),
        "form": form,
        "is_filtered": bool(filters) or bool(state) or not form.is_valid(),
        "kinds": KINDS,
        "trend_of": pipeline,
        **(_unresolved(request.workspace, state, filters) if form.is_valid() else HIDDEN),
    }
    if not request.htmx:
        resolved = form.apply(list_alerts(request.workspace, state=AlertState.RESOLVED, **filters))
        shown = resolved if state in ("", AlertState.RESOLVED) else resolved.none()
        context |= {
            "trends": list_trends(request.workspace, pipeline) if form.is_valid() else [],
            "names": list_pipeline_names(request.workspace),
            "found": take_page(shown, request.GET.get("cursor", ""), NEWEST_FIRST, 25),
        }
    return render_page(request, "health/home.html", context, fragment="health/_now.html")


def _unresolved(workspace: Workspace, state: str, filters: dict[str, Any]) -> dict[str, Any]:
    if state == AlertState.RESOLVED:
        return HIDDEN
    found = list(list_alerts(workspace, state=state, **filters)[: MOST_ALERTS + 1])
    return {"alerts": found[:MOST_ALERTS], "has_more": len(found) > MOST_ALERTS}


Widget = Callable[..., HttpResponse]


def without_database(view: Widget) -> Widget:
    """Decorate the widget's view: it shows "Unknown" if the database does not respond."""

    @wraps(view)
    def safe(request: HttpRequest, workspace: str) -> HttpResponse:
        try:
            return view(request, workspace=workspace)
        except DatabaseError:
            return HttpResponse(render_to_string("health/_light.html", {"light": None, "slug": workspace}))

    return safe


@never_cache
@require_GET
@without_database
@page()
def widget(request: HtmxRequest) -> HttpResponse:
    context = {"light": get_light(request.workspace), "slug": request.workspace.slug}
    return render_page(request, "health/_light.html", context)


@require_POST
@page(role="editor")
def ack(request: HtmxRequest, alert: UUID) -> HttpResponse:
    found = get_alert(request.workspace, alert)
    acknowledge(found, request.user)
    return _changed(request, f"Alert acknowledged: {found.kind}.")


@require_POST
@page(role="editor")
def close(request: HtmxRequest, alert: UUID) -> HttpResponse:
    found: Alert = get_alert(request.workspace, alert)
    resolve(found, request.user)
    return _changed(request, f"Alert resolved: {found.kind}.")


def _changed(request: HtmxRequest, text: str) -> HttpResponse:
    messages.success(request, text)
    return redirect("health:home", request.workspace.slug)
