"""How to ask for the next page, one function for each kind of paging."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from executors.errors import Terminal
from executors.http_api.client import Page
from executors.http_api.responses import next_at
from executors.stores.http_client import resolved, shown
from ir.connectors.http_api import Cursor, LinkHeader, NextUrl, Offset, PageNumber
from ir.json_paths import parse_json_path


@dataclass(frozen=True, slots=True)
class Progress:
    """The page that has just been read, the numbers of pages and of records so far, and that of its own records."""

    page: Page
    pages: int
    records: int
    new: int


Next = Mapping[str, str] | str | None
"""The parameters of the next page, or its URL; None after the last page."""


def first_parameters(pages: Any) -> dict[str, str]:
    """Return the parameters of the first page."""
    if isinstance(pages, PageNumber):
        return {pages.parameter: str(pages.first)}
    return {pages.parameter: "0"} if isinstance(pages, Offset) else {}


def is_numbered(pages: Any) -> bool:
    """Return whether Flow numbers the pages. Otherwise each response names the next page."""
    return isinstance(pages, PageNumber | Offset)


def next_page(pages: Any, progress: Progress) -> Next:
    if pages is None:  # one response has all records
        return None
    return _NEXT[type(pages)](pages, progress)


def _by_number(pages: PageNumber, progress: Progress) -> Next:
    """A short page is not the last one: the server may return fewer records than it was asked for."""
    return {pages.parameter: str(pages.first + progress.pages)} if progress.new else None


def _by_offset(pages: Offset, progress: Progress) -> Next:
    return {pages.parameter: str(progress.records)} if progress.new else None


def _by_cursor(pages: Cursor, progress: Progress) -> Next:
    cursor = _named(pages.path, progress.page)
    return {pages.parameter: cursor} if cursor else None


def _by_url(pages: NextUrl, progress: Progress) -> Next:
    found = _named(pages.path, progress.page)
    return _address(progress.page, found, pages.path) if found else None


def _by_link(pages: LinkHeader, progress: Progress) -> Next:
    link = progress.page.next_link
    return _address(progress.page, link, "the Link header") if link else None


_steps_of = lru_cache(parse_json_path)
"""Called for each page."""


def _named(path: str, page: Page) -> str | None:
    try:
        return next_at(page.text, _steps_of(path))
    except UnicodeEncodeError:
        raise _unreadable(page, path, "an incomplete surrogate pair") from None
    except ValueError as error:
        raise _unreadable(page, path, str(error)) from None


def _address(page: Page, named: str, place: str) -> str:
    found = resolved(page.url, named)
    if found is None:
        raise _unreadable(page, place, "something that is not a URL")
    return found


def _unreadable(page: Page, place: str, why: str) -> Terminal:
    return Terminal(
        "http_api.next_unreadable",
        f"A response of {shown(page.url)} has {why} at {place}, so the next page is unknown.",
        hint="Correct pages: its path is that of the cursor or of the URL, such as $.meta.next.",
    )


_NEXT: dict[type, Callable[[Any, Progress], Next]] = {
    PageNumber: _by_number,
    Offset: _by_offset,
    Cursor: _by_cursor,
    NextUrl: _by_url,
    LinkHeader: _by_link,
}
