"""Pages and fragments of pages: one view and one context for both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser
    from django_htmx.middleware import HtmxDetails

    from flowapp.accounts.models import Membership, User, Workspace

ToastKind = Literal["success", "info", "warning", "danger"]


class VisitorRequest(HttpRequest):
    """The request of views that are open to anonymous visitors."""

    htmx: HtmxDetails
    user: User | AnonymousUser


class HtmxRequest(VisitorRequest):
    """The request of all other views. `workspace`, `role` and `membership` are set in views under `@page`."""

    user: User
    workspace: Workspace
    role: str
    membership: Membership | None


def render_page(
    request: HtmxRequest, template: str, context: dict[str, Any], *, fragment: str | None = None, status: int = 200
) -> HttpResponse:
    """Render the whole page, or for htmx the template `fragment` with the same context.

    Going back in the history is an htmx request that needs the whole page.
    """
    part = fragment if fragment and request.htmx and not request.htmx.history_restore_request else template
    response = render(request, part, context, status=status)
    if fragment:
        patch_vary_headers(response, ["HX-Request"])
    return response


def trigger(response: HttpResponse, event: str, **detail: Any) -> HttpResponse:
    """Trigger `event` in the browser after the response. Fragments listen for it."""
    events = json.loads(response.headers.get("HX-Trigger", "{}"))
    response.headers["HX-Trigger"] = json.dumps({**events, event: detail})
    return response


def toast(response: HttpResponse, text: str, kind: ToastKind = "success") -> HttpResponse:
    """Show the result of an action for a few seconds. After a redirect use `django.contrib.messages` instead."""
    return trigger(response, "flow:toast", text=text, kind=kind)
