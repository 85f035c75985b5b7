"""The pages of streams."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.accounts.models import User
from flowapp.runs.models import Trigger
from flowapp.streams.selectors import (
    chart_of,
    get_stream,
    list_changes,
    list_streams,
    totals_of,
    view_all,
    view_of,
)
from flowapp.streams.services import pause_stream, resnapshot, resume_stream
from flowapp.streams.watching import drop_slot
from flowapp.web.htmx import HtmxRequest, render_page


@require_GET
@page()
def listing(request: HtmxRequest) -> HttpResponse:
    views = view_all(list_streams(request.workspace))
    context = {"views": views, "is_enabled": settings.FLOW_STREAMING_ENABLED}
    return render_page(request, "streams/list.html", context, fragment="streams/_rows.html")


@require_GET
@page()
def detail(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show a stream; for htmx, only the part that changes."""
    stream = get_stream(request.workspace, slug)
    context = {
        "view": view_of(stream),
        "bars": chart_of(stream),
        "totals": totals_of(stream),
        "changes": list_changes(stream),
    }
    return render_page(request, "streams/detail.html", context, fragment="streams/_live.html")


@require_POST
@page("editor")
def pause(request: HtmxRequest, slug: str) -> HttpResponse:
    pause_stream(get_stream(request.workspace, slug), str(request.user), _reason(request))
    return _done(request, slug, "The stream is paused. The window that is being loaded ends first.")


@require_POST
@page("editor")
def resume(request: HtmxRequest, slug: str) -> HttpResponse:
    resume_stream(get_stream(request.workspace, slug), str(request.user), _reason(request), _user(request))
    return _done(request, slug, "The stream goes on.")


@require_POST
@page("editor")
def new_snapshot(request: HtmxRequest, slug: str) -> HttpResponse:
    """Load all rows again. If the slot is lost, its loss is the reason, so that one press is enough."""
    stream = get_stream(request.workspace, slug)
    reason = _reason(request) or ("The changes are no longer in the log." if view_of(stream).needs_snapshot else "")
    resnapshot(stream, str(request.user), reason, Trigger.MANUAL, _user(request))
    return _done(request, slug, "A run reads all rows again, and then follows the changes.")


@require_POST
@page("editor")
def remove_slot(request: HtmxRequest, slug: str) -> HttpResponse:
    drop_slot(get_stream(request.workspace, slug), str(request.user), _reason(request))
    return _done(request, slug, "The slot is dropped. Its server can remove the log that it held.")


def _reason(request: HtmxRequest) -> str:
    return request.POST.get("reason", "").strip()


def _user(request: HtmxRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _done(request: HtmxRequest, slug: str, text: str) -> HttpResponse:
    """Go back to the page from which the person has acted."""
    messages.success(request, text)
    where = "pipelines:edit" if request.POST.get("from") == "pipeline" else "streams:detail"
    return redirect(where, request.workspace.slug, slug)
