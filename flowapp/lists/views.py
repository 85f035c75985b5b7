"""Save and delete filters of lists. A filter belongs to one user in one workspace."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from flowapp.accounts.access import page
from flowapp.lists.services import filter_query, get_filter, require_page, save_filter
from flowapp.web.htmx import HtmxRequest


@require_POST
@page()
def save(request: HtmxRequest) -> HttpResponse:
    """Save the current filter of the list."""
    of, name, query = (request.POST.get(field, "") for field in ("page", "name", "query"))
    saved = save_filter(request.workspace, request.user, of, name, query)
    messages.success(request, f"Filter “{saved.name}” is saved.")
    return _list(request, saved.page, saved.query)


@require_POST
@page()
def delete(request: HtmxRequest, saved_filter: UUID) -> HttpResponse:
    """Delete a saved filter. The list stays as it is."""
    found = get_filter(request.workspace, request.user, saved_filter)
    found.delete()
    messages.success(request, f"Filter “{found.name}” is deleted.")
    return _list(request, found.page, filter_query(request.POST.get("query", "")))


def _list(request: HtmxRequest, of: str, query: str) -> HttpResponse:
    address = reverse(require_page(of), args=[request.workspace.slug])
    return HttpResponseRedirect(f"{address}?{query}" if query else address)
