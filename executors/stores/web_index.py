"""Reads the links of a page that lists files: HTML, JSON, or a line for each file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from lxml import html
from lxml.etree import ParserError

from executors.errors import Terminal

MOST_LINKS = 100_000


def links_of(body: bytes, content_type: str, page: str, *, folders: bool) -> list[str]:
    """Return the URLs of files (and with `folders`, of folders) that are on the server of the page, below its folder,
    in the order of the page and without repetition. Raises Terminal `source.index_unreadable`."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind in ("text/html", "application/xhtml+xml"):
        links = _of_html(body)
    elif kind == "application/json":
        links = _of_json(body, page)
    elif kind == "text/plain":
        links = iter(body.decode("utf-8", "replace").splitlines())
    else:
        raise _unreadable(page, f"its type is {kind[:60]!r}")
    below = _folder_of(page)
    found = (_resolved(page, link.strip()) for link in links if link.strip())
    below_page = dict.fromkeys(url for url in found if _is_below(url, below) and (folders or not _is_folder(url)))
    if len(below_page) > MOST_LINKS:
        raise _unreadable(page, f"it has more than {MOST_LINKS:,} links")
    return list(below_page)


def _of_html(body: bytes) -> Iterator[str]:
    try:
        yield from (str(link) for link in html.document_fromstring(body).xpath("//a/@href"))
    except ParserError:  # an empty page
        return


def _of_json(body: bytes, page: str) -> Iterator[str]:
    try:
        listed = json.loads(body)
    except ValueError:
        raise _unreadable(page, "it is not valid JSON") from None
    if not isinstance(listed, list):
        raise _unreadable(page, "it is not a list")
    for item in listed:
        yield _link_of(item, page)


def _link_of(item: Any, page: str) -> str:
    """Return an address that is a text, or a member of an object, as servers write them for folders."""
    if isinstance(item, str):
        return item
    if isinstance(item, dict):
        link = next((item[name] for name in ("url", "href", "name") if isinstance(item.get(name), str)), None)
        if link is not None:
            return f"{link}/" if item.get("type") == "directory" and not link.endswith("/") else str(link)
    raise _unreadable(page, "an item of the list is neither an address nor an object with url, href or name")


def _resolved(page: str, link: str) -> str:
    """Return the address that a link leads to; empty if it is none."""
    try:
        return urljoin(page, link).partition("#")[0]
    except ValueError:
        return ""


def _folder_of(page: str) -> tuple[str, str, str]:
    parts = urlsplit(page)
    return parts.scheme, parts.netloc, (parts.path.rpartition("/")[0] or "") + "/"


def _is_below(url: str, folder: tuple[str, str, str]) -> bool:
    parts, (scheme, netloc, path) = urlsplit(url), folder
    if (parts.scheme, parts.netloc) != (scheme, netloc) or not parts.path.startswith(path) or parts.path == path:
        return False
    # An encoded way upwards leads where the server reads it, not where it seems to lead.
    segments = unquote(unquote(parts.path)).replace("\\", "/").split("/")
    return not {".", ".."} & set(segments)


def _is_folder(url: str) -> bool:
    return urlsplit(url).path.endswith("/")


def _unreadable(page: str, why: str) -> Terminal:
    return Terminal(
        "source.index_unreadable",
        f"The page {unquote(page.partition('?')[0])} cannot be read as a list of files: {why}.",
        hint="Use a page of HTML with links, a JSON list, or a text with one address per line; or name the files with "
        "urls.",
    )
