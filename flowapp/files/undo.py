"""The page that shows what an undo of a file deletes, and requests it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from flowapp.accounts.access import page
from flowapp.runs.load_units.selectors import get_unit
from flowapp.runs.models import Trigger
from flowapp.undos.services import preview, undo_file
from flowapp.web.htmx import HtmxRequest, render_page
from ir.errors import FlowError


@never_cache
@require_http_methods(["GET", "POST"])
@page(role="editor")
def undo_page(request: HtmxRequest, unit: UUID) -> HttpResponse:
    found = get_unit(request.workspace, unit)
    if request.method == "POST":
        run = undo_file(found, request.POST.get("reason", ""), _rows(request), Trigger.MANUAL, user=request.user)
        messages.success(request, f"{found.name} is being undone.")
        return redirect("runs:detail", request.workspace.slug, run.pk)
    context: dict[str, Any] = {"unit": found}
    try:
        context["preview"] = preview(found)
    except FlowError as error:
        context["error"] = error
    return render_page(request, "files/undo.html", context)


def _rows(request: HtmxRequest) -> int:
    """Return the number of rows that the page has shown. Raises FlowError."""
    given = request.POST.get("rows", "")
    if not given.isdecimal():
        raise FlowError("undo.rows_unknown", "The number of rows to delete is missing.", hint="Look at it first.")
    return int(given)
