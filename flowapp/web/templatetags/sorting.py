"""Headers of columns by which a list can be sorted."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from flowapp.web.sorting import Sorting
from flowapp.web.templatetags.flow import icon, with_query

register = template.Library()
ICONS = {"ascending": "chevron-up", "descending": "chevron-down"}


@register.simple_tag(takes_context=True)
def sort_header(context: template.Context, title: str, name: str, classes: str = "") -> SafeString:
    """Render a header cell with the link that sorts by its column. `sorting` in the context is the current order."""
    sorting: Sorting = context["sorting"]
    aria = sorting.aria_of(name)
    return format_html(
        '<th class="{}" aria-sort="{}"><a class="sort-link" href="{}">{}{}</a></th>',
        classes,
        aria,
        with_query(context, sort=sorting.next_of(name), cursor=None),
        title,
        icon(ICONS[aria]) if aria in ICONS else "",
    )
