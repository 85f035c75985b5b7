"""Values of rejected rows in a list. A page has hundreds of them, and a template for each would take longer than the
query."""

from __future__ import annotations

from collections.abc import Iterator

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from executors.target_database import Cut, RowPreview
from ir.words import counted

register = template.Library()
NULL, EMPTY = SafeString("<em>NULL</em>"), SafeString("<em>empty text</em>")
_CUT = SafeString('<em title="The page of the row shows all of it">… cut</em>')


@register.filter
def beginning(cut: Cut) -> SafeString:
    """Render the beginning of a value. NULL, empty text and cut text look different from any value."""
    if not cut.text:
        return NULL if cut.text is None else EMPTY
    return format_html('<span class="row-value">{}</span>{}', cut.text, _CUT if cut.is_cut else "")


@register.filter
def other_fields(preview: RowPreview) -> SafeString:
    """Render the first fields of a row besides the failing one, and the number of further fields."""
    return format_html_join(" · ", "{}{} {}", _parts(preview))


def _parts(preview: RowPreview) -> Iterator[tuple[str, str, SafeString | str]]:
    for name, value in preview.fields:
        yield name.text or "", "…" if name.is_cut else "", beginning(value)
    if preview.more:
        yield counted(preview.more, "more field"), "", ""
