"""How to ask for the next page, one function for each kind of paging."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from executors.http_api.client import Page
from executors.http_api.responses import scalar_at
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
    cursor = scalar_at(progress.page.text, parse_json_path(pages.path))
    return {pages.parameter: cursor} if cursor else None


def _by_url(pages: NextUrl, progress: Progress) -> Next:
    found = scalar_at(progress.page.text, parse_json_path(pages.path))
    return urljoin(progress.page.url, found) if found else None


def _by_link(pages: LinkHeader, progress: Progress) -> Next:
    link = progress.page.next_link
    return urljoin(progress.page.url, link) if link else None


_NEXT: dict[type, Callable[[Any, Progress], Next]] = {
    PageNumber: _by_number,
    Offset: _by_offset,
    Cursor: _by_cursor,
    NextUrl: _by_url,
    LinkHeader: _by_link,
}
