"""Filters and tags for the templates of all apps: icons, numbers, times and states."""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache
from pathlib import Path

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from flowapp.web.docs import code_link, field_url, link_docs
from flowapp.zones import in_zone
from ir.rules import ON_FAIL_LABELS
from ir.words import counted as count_text
from ir.words import date_pattern, duration_text, size_text

register = template.Library()

SPRITE = "icons.svg"
NOTHING = "–"

STATES = {
    "queued": ("secondary", "clock", "Queued"),
    "waiting": ("secondary", "hourglass", "Waiting for files"),
    "running": ("blue", "loader-2", "Running"),
    "held": ("yellow", "hand-stop", "Waiting for approval"),
    "approved": ("blue", "circle-check", "Approved, load pending"),
    "discarded": ("secondary", "trash", "Discarded"),
    "succeeded": ("green", "check", "Succeeded"),
    "succeeded_with_warnings": ("yellow", "alert-triangle", "Succeeded with warnings"),
    "loaded_hook_failed": ("orange", "alert-triangle", "Loaded, hook failed"),
    "partially_loaded": ("orange", "alert-triangle", "Partially loaded"),
    "failed": ("red", "x", "Failed"),
    "cancelled": ("secondary", "ban", "Cancelled"),
    "skipped": ("secondary", "player-skip-forward", "Skipped"),
    "pending": ("secondary", "clock", "Pending"),
    "processing": ("blue", "loader-2", "Processing"),
    "committed": ("green", "check", "Loaded"),
    "undone": ("secondary", "arrow-back-up", "Undone"),
}
"""Colour, icon and label of each state of a run or a file. A state is never shown by colour alone."""


@cache
def known_icons() -> frozenset[str]:
    found = finders.find(SPRITE)
    return frozenset(re.findall(r'<symbol id="([^"]+)"', Path(found).read_text())) if found else frozenset()


@register.simple_tag
@cache
def icon(name: str, extra: str = "") -> SafeString:
    """Render an icon beside text, hidden from screen readers; `extra` are more classes."""
    if name not in known_icons():
        raise template.TemplateSyntaxError(
            f"There is no icon {name!r}; add it to static/src/icons.json and run `npm run build`."
        )
    address = f"{static(SPRITE)}#{name}"
    classes = f"icon {extra}".strip()
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}"></use></svg>', classes, address)


@register.filter
def thousands(number: int | float | str | None) -> str:
    """Format 1234567 as 1,234,567, and an unknown number as a dash."""
    return NOTHING if number in (None, "") else f"{number:,}"


@register.filter
def record_of(number: int | None, file: str | None) -> str:
    """Format the position of a record: `orders.csv record 333`. Record numbers are not line numbers: headers and line
    breaks in cells are lines too."""
    return f"{file or NOTHING} record {thousands(number)}"


@register.filter
def known(number: int | None) -> SafeString | str:
    """Format a number like `thousands`; an unknown number also has an accessible label, so that it is not taken for
    0."""
    if number is not None:
        return thousands(number)
    why = "No number: no rows were validated or counted, or the count is not stored"
    return format_html('<span role="img" aria-label="no number" title="{}">{}</span>', why, NOTHING)


@register.filter
def counted(number: int | None, noun: str) -> str:
    """Format a count: `1 row`, `2,000 rows`, and `– rows` if it is unknown."""
    return f"{NOTHING} {noun}s" if number is None else count_text(number, noun)


@register.filter
def share(rate: float) -> str:
    """Format a share of 0 to 1 in percent. Only an exact 0 or 1 is shown as 0 or 100."""
    percent = 100 * rate
    if 0 < percent < 1:
        return "<1 %"
    return ">99 %" if 99 < percent < 100 else f"{percent:.0f} %"


@register.filter
def observed(value: object) -> str:
    """Format the result of a check: a number, a text, or nothing."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if is_number else NOTHING if value is None else str(value)


@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """Format a past or future time: `3 min ago`, `in 3 min`, with the exact time on hover."""
    if moment is None:
        return NOTHING
    exact = moment.astimezone(timezone.get_default_timezone()).strftime("%Y-%m-%d %H:%M:%S %Z")
    return _relative_time(moment, exact)


@register.filter
def due(moment: datetime, zone: str) -> SafeString:
    """Format the time of a scheduled run: `in 3 h`, with the exact time in the schedule's zone on hover."""
    return _relative_time(moment, in_zone(moment, zone))


def _relative_time(moment: datetime, exact: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>', moment.isoformat(), exact, relative(moment, timezone.now())
    )


@register.filter
def moment(text: str) -> datetime:
    """Parse a time from JSON."""
    return datetime.fromisoformat(text)


STEPS = ((60, 1, "s"), (3600, 60, "min"), (86400 * 2, 3600, "h"), (86400 * 30, 86400, "d"))
"""The units of relative times: up to how many seconds a unit is used, its length in seconds, and its name."""


def relative(moment: datetime, now: datetime) -> str:
    """Return the distance rounded to a whole unit; a date if it is more than a month."""
    seconds = (now - moment).total_seconds()
    for limit, unit, name in STEPS:
        number = int(abs(seconds) / unit + 0.5)
        if number * unit < limit:
            return f"{number} {name} ago" if seconds >= 0 else f"in {number} {name}"
    return moment.strftime("%Y-%m-%d")


@register.filter
def duration(seconds: float | None) -> str:
    return NOTHING if seconds is None else duration_text(seconds)


@register.filter
def byte_size(size: int | str | None) -> str:
    """Format a number of bytes; an unknown or missing one as a dash."""
    return size_text(size) if isinstance(size, int) else NOTHING


@register.filter
def duration_of_ms(milliseconds: int | None) -> str:
    return NOTHING if milliseconds is None else duration_text(milliseconds / 1000)


@register.filter
def on_fail(value: str) -> str:
    """Return the label of `onFail`, as in forms: `skip` becomes `reject row`."""
    return ON_FAIL_LABELS[value]


register.filter(code_link)
register.filter(link_docs)
register.simple_tag(field_url)
register.filter(in_zone)
register.filter(date_pattern)


@register.filter
def unbroken(text: str) -> SafeString:
    """Break lines at spaces only, not at the hyphens of a date."""
    return format_html_join(" ", '<span class="text-nowrap">{}</span>', ((word,) for word in text.split()))


@register.filter
def words(name: str) -> str:
    """Format a stored name: `not_loaded` as `not loaded`."""
    return name.replace("_", " ")


_OUTCOMES = {"dropped": "rejected", "loaded": "loaded with a warning", "not_loaded": "not loaded"}


@register.filter
def outcome(disposition: str) -> str:
    """Return the outcome of a row that violated a rule."""
    return _OUTCOMES[disposition]


@register.filter
def row_url(key: str, workspace: str) -> str:
    """Return the URL of a rejected row, by its key."""
    run, _, row_id = key.partition(":")
    return reverse("quarantine:row", args=[workspace, run, row_id])


@register.filter
def named(key: str, names: dict[str, str] | None) -> str:
    """Return the meaning of a name, or the name itself if it is unknown."""
    return (names or {}).get(key, key)


@register.filter
@cache
def state_badge(state: str | None) -> SafeString:
    """Render a state as a badge with colour, icon and label."""
    colour, symbol, words = STATES.get(state or "", ("secondary", "minus", (state or "never run").replace("_", " ")))
    return format_html('<span class="badge bg-{}-lt state">{}{}</span>', colour, icon(symbol), words)


@register.simple_tag
def shortcut(keys: str, action: str) -> SafeString:
    """Render a line of the list of keyboard shortcuts. `keys` are joined by +, such as `Ctrl+K`."""
    pressed = format_html_join(" ", "<kbd>{}</kbd>", ((key,) for key in keys.split("+")))
    return format_html('<div class="shortcut"><dt>{}</dt><dd>{}</dd></div>', action, pressed)


@register.simple_tag(takes_context=True)
def nav_attributes(context: template.Context, namespaces: tuple[str, ...]) -> SafeString | str:
    """Return `aria-current` if the current page belongs to this entry of the menu."""
    match = getattr(context.get("request"), "resolver_match", None)
    return SafeString('aria-current="page"') if match and match.namespace in namespaces else ""


@register.simple_tag(takes_context=True)
def with_query(context: template.Context, **changes: object) -> str:
    """Return the page's query string with changed parameters; None or empty removes a parameter."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value not in (None, ""):
            query[name] = str(value)
    return f"?{query.urlencode()}"
