"""Save, list and delete filters of lists."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from flowapp.accounts.models import User, Workspace
from flowapp.lists.models import SavedFilter
from ir.errors import FlowError

PAGES = {"pipelines": "pipelines:list", "runs": "runs:list", "files": "files:list", "errors": "quarantine:rows"}
"""The lists that have saved filters, with the names of their URLs."""
MOST_FILTERS = 20
"""The maximum number of saved filters of a user for one list of a workspace."""
LONGEST_QUERY = 2000
NOT_IN_FILTERS = frozenset({"cursor", "new"})
"""Query parameters that are no part of a filter."""


def list_filters(workspace: Workspace, user: User, page: str) -> list[SavedFilter]:
    return list(SavedFilter.objects.filter(workspace=workspace, user=user, page=page).order_by("name"))


def save_filter(workspace: Workspace, user: User, page: str, name: str, query: str) -> SavedFilter:
    """Save a filter under a name; replace a filter of the same name. Raises FlowError."""
    require_page(page)
    name, query = " ".join(name.split()), filter_query(query)
    if not 1 <= len(name) <= 60 or not query or len(query) > LONGEST_QUERY:
        raise FlowError(
            "filter.name_invalid",
            f"A filter has a name of up to 60 characters and at least one condition, in {LONGEST_QUERY:,} characters.",
            hint="Filter or sort the list, enter a name, then save.",
        )
    mine = SavedFilter.objects.filter(workspace=workspace, user=user, page=page)
    if mine.exclude(name=name).count() >= MOST_FILTERS:
        raise FlowError(
            "filter.too_many", f"You have {MOST_FILTERS} filters for this list.", hint="Delete one of them first."
        )
    saved, _ = mine.update_or_create(
        name=name, defaults={"query": query}, create_defaults={**_owner(workspace, user, page), "query": query}
    )
    return saved


def _owner(workspace: Workspace, user: User, page: str) -> dict[str, object]:
    return {"workspace": workspace, "user": user, "page": page}


def get_filter(workspace: Workspace, user: User, saved_filter: UUID) -> SavedFilter:
    """Return a filter of this user. Raises FlowError."""
    found = SavedFilter.objects.filter(workspace=workspace, user=user, pk=saved_filter).first()
    if found is None:
        raise FlowError("filter.unknown", "Unknown filter.", hint="It may have been deleted. Reload the page.")
    return found


def require_page(page: str) -> str:
    """Return the name of the list's URL. Raises FlowError."""
    if page not in PAGES:
        raise FlowError("filter.page_unknown", f"{page!r} has no saved filters.", hint=f"Lists: {', '.join(PAGES)}.")
    return PAGES[page]


def filter_query(query: str) -> str:
    """Return the query string without empty values and without the position in the list."""
    pairs = parse_qsl(query.lstrip("?").replace("\0", ""))
    return urlencode([(name, value) for name, value in pairs if name not in NOT_IN_FILTERS])
