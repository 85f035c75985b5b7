"""The pages of `docs/` in the browser, so that what a diagnostic names can be followed."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from django.conf import settings
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

NAMED = re.compile(r"\bdocs/([a-z-]+)\.md\b")


def _folder() -> Path:
    return Path(settings.BASE_DIR) / "docs"


@cache
def read_page(name: str) -> SafeString | None:
    """A page as HTML; None if there is none of that name. Its text is ours, and HTML in it is shown, not run."""
    path = _folder() / f"{name}.md"
    if not re.fullmatch("[a-z-]+", name) or not path.is_file():
        return None
    html = _HEADING.sub(_with_id, MarkdownIt("js-default").render(path.read_text()))
    # What scrolls sideways can be reached by the keyboard.
    return mark_safe(html.replace("<pre>", '<pre tabindex="0">'))  # noqa: S308


_HEADING = re.compile(r"<(h[23])>(.*?)</\1>")


def _with_id(heading: re.Match[str]) -> str:
    """With the id that GitHub gives it, so that the same links lead to a section in both places."""
    level, text = heading.groups()
    slug = re.sub(r"[^\w\- ]", "", re.sub("<[^>]*>", "", text)).strip().lower().replace(" ", "-")
    return f'<{level} id="{slug}">{text}</{level}>'


def link_docs(text: str) -> SafeString:
    """The text, escaped, with a link wherever it names a page of `docs/`."""
    pieces = NAMED.split(text)
    names, rests = pieces[1::2], pieces[2::2]
    linked = ((_link(name), rest) for name, rest in zip(names, rests, strict=True))
    return format_html("{}{}", pieces[0], format_html_join("", "{}{}", linked))


def _link(name: str) -> SafeString | str:
    if read_page(name) is None:
        return f"docs/{name}.md"
    return format_html('<a href="{}">docs/{}.md</a>', reverse("docs", args=[name]), name)
