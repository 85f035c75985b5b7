"""The page of one mark: where the next load begins, what changed it, and changing it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from flowapp.accounts.access import page
from flowapp.pipelines.selectors import get_pipeline
from flowapp.watermarks.places import Place, place_of
from flowapp.watermarks.selectors import get_mark
from flowapp.watermarks.services import reset_mark, set_mark
from flowapp.web.htmx import HtmxRequest


@require_GET
@page()
def detail(request: HtmxRequest, ident: str, node: str) -> HttpResponse:
    place = _place(request, ident, node)
    return render(request, "watermarks/detail.html", {"place": place, "mark": get_mark(place)})


@require_POST
@page("editor")
def set_to(request: HtmxRequest, ident: str, node: str) -> HttpResponse:
    place, given = _place(request, ident, node), request.POST
    mark = set_mark(place, given.get("value", ""), given.get("reason", ""), str(request.user))
    messages.success(request, f"The next load of {node} begins at {mark.value}.")
    return redirect("watermarks:detail", request.workspace.slug, ident, node)


@require_POST
@page("editor")
def reset(request: HtmxRequest, ident: str, node: str) -> HttpResponse:
    reset_mark(_place(request, ident, node), request.POST.get("reason", ""), str(request.user))
    messages.success(request, f"The mark of {node} is reset.")
    return redirect("watermarks:detail", request.workspace.slug, ident, node)


def _place(request: HtmxRequest, ident: str, node: str) -> Place:
    return place_of(get_pipeline(request.workspace, ident), node)
