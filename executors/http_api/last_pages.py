"""Whether the last page that was read is the last one of the service."""

from __future__ import annotations

from executors.errors import Terminal
from executors.http_api.client import Page
from executors.http_api.paging import is_numbered
from executors.http_api.responses import value_at
from ir.connectors.http_api import Cursor, HttpApiConfig, LinkHeader, NextUrl
from ir.json_paths import parse_json_path

_SIZES = frozenset({10, 15, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000, 10_000})
"""How many records services usually put on a page."""


def require_last(config: HttpApiConfig, name: str, page: Page) -> None:
    """Raise Terminal if the response says that more pages follow, although none would be requested. Behind numbered
    pages was one without records."""
    if is_numbered(config.pages):
        return
    if page.is_part and config.pages is None:
        why = "calls itself a part (206)"
    elif page.next_link and not isinstance(config.pages, LinkHeader):
        why = "names a next page in its Link header"
    else:
        return
    raise Terminal(
        "http_api.more_pages",
        f"The last response of {name} {why}, so records would be missing.",
        hint="Set pages to the kind of paging of the service, such as link_header, and check its path.",
    )


def doubt_of_only_page(config: HttpApiConfig, page: Page, records: int) -> str | None:
    """Return a doubt whether the only page has all records: the service does not say that it is the last one, and the
    path of the next page leads nowhere, or the page is as long as pages usually are."""
    if config.total is not None or is_numbered(config.pages) or not records:
        return None
    lacks = "no Link header that names another one"
    if isinstance(config.pages, Cursor | NextUrl):
        if value_at(page.text, parse_json_path(config.pages.path)) is not None:
            return None
        lacks = f"nothing at {config.pages.path}"
    elif records not in _SIZES and str(records) not in (config.parameters or {}).values():
        return None
    return f"was read as one page of {records:,} records: it has {lacks}. If there are more records, they are missing."
