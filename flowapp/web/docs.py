"""Render the pages of `docs/`, and link to them from messages, codes and form fields."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from flowapp.error_codes import anchor_of

INDEX = "README"
NAMED = re.compile(r"\bdocs/(?:[a-z]+/)?([a-z-]+)\.md\b")
_NAME = re.compile(r"[a-z0-9-]+")
_HEADING_OR_ROW = re.compile(r"<(h[23])>(.*?)</\1>|<tr>\n<td>(?:<strong>)?<code>(\$?\w+)</code>")
_GROUP = re.compile(r"^## (.+)$|^- \[(.+?)\]\((?:[a-z]+/)?([A-Za-z-]+)\.md\)", re.MULTILINE)


class Page(NamedTuple):
    name: str
    title: str


class PageGroup(NamedTuple):
    title: str
    pages: Sequence[Page]


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "docs"


@cache
def _paths() -> dict[str, Path]:
    """Return the file of each page by its name; a folder's README has the folder's name."""
    paths = sorted(_folder().rglob("*.md"))
    named = {path.parent.name if path.stem == INDEX else path.stem: path for path in paths}
    named[INDEX] = named.pop(_folder().name)
    return named


@cache
def list_groups() -> tuple[PageGroup, ...]:
    """Return the pages of the index, grouped by its headings."""
    groups: list[tuple[str, list[Page]]] = []
    for heading, title, name in _GROUP.findall(_paths()[INDEX].read_text()):
        if heading:
            groups.append((heading, []))
        else:
            groups[-1][1].append(Page(name, title))
    return tuple(PageGroup(heading, tuple(pages)) for heading, pages in groups)


def title_of(name: str) -> str:
    """Return the first heading of a page."""
    return _paths()[name].read_text().partition("\n")[0].removeprefix("# ").replace("`", "")


@cache
def read_page(name: str) -> SafeString | None:
    """Return a page as HTML, or None if there is no page of that name. HTML in its text is displayed as text."""
    path = _paths().get(name)
    if path is None:
        return None
    parser = MarkdownIt("js-default")
    parser.add_render_rule("link_open", _render_link)
    html = _with_anchors(parser.render(path.read_text(), {"folder": path.parent.relative_to(_folder())}))
    # A focusable region, so that the keyboard can scroll wide content.
    return mark_safe(html.replace("<pre>", '<pre tabindex="0">'))  # noqa: S308


def _render_link(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: MutableMapping[str, Any]
) -> str:
    """Render a link. A link to a file of `docs/` leads to its page. Links to other files have no target, because these
    files have no page."""
    token = tokens[index]
    target, hash_sign, section = str(token.attrs["href"]).partition("#")
    if target and ":" not in target:
        name = _name_of(PurePosixPath(env["folder"]) / target)
        token.attrs = {"href": page_url(name) + hash_sign + section} if name else {}
    return renderer.renderToken(tokens, index, options, env)


def _name_of(path: PurePosixPath) -> str:
    """Return the name of the page of a file in `docs/`; '' if there is none."""
    name = path.parent.name if path.stem == INDEX and path.parent.name else path.stem
    return name if path.suffix == ".md" and name in _paths() else ""


def _with_anchors(html: str) -> str:
    """Give headings the ids that GitHub gives them, and table rows that begin with a name `<heading>-<name>`."""
    used: set[str] = set()
    section = ""

    def add(found: re.Match[str]) -> str:
        nonlocal section
        level, text, name = found.groups()
        if level:
            section = unused = slug_of(re.sub("<[^>]*>", "", text))
        else:
            unused = f"{section}-{name.lower()}"
        if unused in used:
            return found[0]
        used.add(unused)
        return f'<{level} id="{unused}">{text}</{level}>' if level else found[0].replace("<tr>", f'<tr id="{unused}">')

    return _HEADING_OR_ROW.sub(add, html)


def slug_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")


def page_url(name: str) -> str:
    return reverse("docs_index") if name == INDEX else reverse("docs", args=[name])


def field_url(definition: str, name: str) -> str:
    """Return the URL at which the reference of the document describes a field."""
    return f"{page_url('document')}#{slug_of(definition)}-{name.lower()}"


def code_link(code: str) -> SafeString:
    """Return the code, linked to its description if there is one."""
    if anchor_of(code) not in _code_anchors():
        return format_html("<code>{}</code>", code)
    return format_html('<a href="{}#{}"><code>{}</code></a>', page_url("errors"), anchor_of(code), code)


@cache
def _code_anchors() -> frozenset[str]:
    return frozenset(re.findall(r'<h3 id="([^"]+)"', str(read_page("errors"))))


def link_docs(text: str) -> SafeString:
    """Return the text, escaped, with links in place of the names of pages of `docs/`."""
    parts: list[tuple[str | SafeString]] = []
    end = 0
    for found in NAMED.finditer(text):
        parts += [(text[end : found.start()],), (_link(found),)]
        end = found.end()
    return format_html_join("", "{}", [*parts, (text[end:],)])


def _link(found: re.Match[str]) -> SafeString | str:
    if found[1] not in _paths():
        return found[0]
    return format_html('<a href="{}">{}</a>', page_url(found[1]), found[0])
