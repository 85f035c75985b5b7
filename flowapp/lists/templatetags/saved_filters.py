"""The menu of saved filters on a list."""

from __future__ import annotations

from typing import Any

from django import template

from flowapp.lists.services import MOST_FILTERS, filter_query, list_filters

register = template.Library()


@register.inclusion_tag("lists/_saved_filters.html", takes_context=True)
def saved_filters(context: template.Context, page: str) -> dict[str, Any]:
    """Return the user's saved filters of this list, and the data of the form that saves the current filter. One
    query."""
    request = context["request"]
    filters, query = list_filters(request.workspace, request.user, page), filter_query(request.GET.urlencode())
    return {
        "workspace": request.workspace,
        "csrf_token": context["csrf_token"],
        "page": page,
        "filters": filters,
        "query": query,
        "current": next((saved for saved in filters if saved.query == query), None),
        "is_full": len(filters) >= MOST_FILTERS,
    }
