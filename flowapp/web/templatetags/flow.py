"""What templates of all apps share: icons, numbers, times and states."""

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
from django.utils.html import format_html
from django.utils.safestring import SafeString

from flowapp.web.docs import link_docs
from flowapp.zones import in_zone
from ir.words import counted as count_text

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
    "failed": ("red", "x", "Failed"),
    "cancelled": ("secondary", "ban", "Cancelled"),
    "skipped": ("secondary", "player-skip-forward", "Skipped"),
    "pending": ("secondary", "clock", "Pending"),
    "processing": ("blue", "loader-2", "Processing"),
    "committed": ("green", "check", "Loaded"),
}
"""Colour, icon and words of the state of a run or a file. Never the colour alone."""


@cache
def known_icons() -> frozenset[str]:
    found = finders.find(SPRITE)
    return frozenset(re.findall(r'<symbol id="([^"]+)"', Path(found).read_text())) if found else frozenset()


@register.simple_tag
@cache
def icon(name: str, extra: str = "") -> SafeString:
    """An icon beside words, hidden from screen readers; `extra` are more classes."""
    if name not in known_icons():
        raise template.TemplateSyntaxError(
            f"There is no icon {name!r}; add it to static/src/icons.json and run `npm run build`."
        )
    address = f"{static(SPRITE)}#{name}"
    classes = f"icon {extra}".strip()
    return format_html('<svg class="{}" aria-hidden="true"><use href="{}"></use></svg>', classes, address)


@register.filter
def thousands(number: int | float | str | None) -> str:
    """1234567 → 1,234,567; nothing for a number that nobody knows, which is not 0."""
    return NOTHING if number in (None, "") else f"{number:,}"


@register.filter
def record_of(number: int | None, file: str | None) -> str:
    """`orders.csv record 333`. A record of a file is no line of it: the header and line ends in cells are lines too."""
    return f"{file or NOTHING} record {thousands(number)}"


@register.filter
def known(number: int | None) -> SafeString | str:
    """The same where a dash must not pass for a 0: it says that there is no number."""
    if number is not None:
        return thousands(number)
    why = "No number: no rows were validated or counted, or the count is not stored"
    return format_html('<span role="img" aria-label="no number" title="{}">{}</span>', why, NOTHING)


@register.filter
def counted(number: int | None, noun: str) -> str:
    """`1 row`, `2,000 rows`; `– rows` where nobody knows."""
    return f"{NOTHING} {noun}s" if number is None else count_text(number, noun)


@register.filter
def observed(value: object) -> str:
    """What a check saw: a number, a text, or nothing."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:,}" if is_number else NOTHING if value is None else str(value)


@register.filter
def ago(moment: datetime | None) -> SafeString | str:
    """`3 min ago`, with the exact time on hover. Also for moments to come: `in 3 min`."""
    if moment is None:
        return NOTHING
    exact = moment.astimezone(timezone.get_default_timezone()).strftime("%Y-%m-%d %H:%M:%S %Z")
    return _relative_time(moment, exact)


@register.filter
def due(moment: datetime, zone: str) -> SafeString:
    """A time of a schedule: `in 3 h`, with the exact time in the schedule's zone on hover."""
    return _relative_time(moment, in_zone(moment, zone))


def _relative_time(moment: datetime, exact: str) -> SafeString:
    return format_html(
        '<time datetime="{}" title="{}" data-ago>{}</time>', moment.isoformat(), exact, relative(moment, timezone.now())
    )


@register.filter
def moment(text: str) -> datetime:
    """The time that JSON holds as text."""
    return datetime.fromisoformat(text)


STEPS = ((60, 1, "s"), (3600, 60, "min"), (86400 * 2, 3600, "h"), (86400 * 30, 86400, "d"))
"""Up to how many seconds a unit is used, its own seconds, and its name."""


def relative(moment: datetime, now: datetime) -> str:
    """The distance to the nearest whole unit; a date where it is more than a month."""
    seconds = (now - moment).total_seconds()
    for limit, unit, name in STEPS:
        number = int(abs(seconds) / unit + 0.5)
        if number * unit < limit:
            return f"{number} {name} ago" if seconds >= 0 else f"in {number} {name}"
    return moment.strftime("%Y-%m-%d")


@register.filter
def duration(seconds: float | None) -> str:
    """0.42 → 0.4 s; 75 → 1 min 15 s; two units at most, the second one rounded."""
    if seconds is None:
        return NOTHING
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    if round(seconds) < 3600:
        return "{} min {} s".format(*divmod(round(seconds), 60))
    return "{} h {} min".format(*divmod(int(seconds / 60 + 0.5), 60))


register.filter(link_docs)
register.filter(in_zone)


@register.filter
def words(name: str) -> str:
    """A stored name as people read it: `not_loaded` → `not loaded`."""
    return name.replace("_", " ")


_OUTCOMES = {"dropped": "rejected", "loaded": "loaded with a warning", "not_loaded": "not loaded"}


@register.filter
def outcome(disposition: str) -> str:
    """What happened to a row that violated a rule."""
    return _OUTCOMES[disposition]


@register.filter
def row_url(key: str, workspace: str) -> str:
    """The page of a rejected row, by its key."""
    run, _, row_id = key.partition(":")
    return reverse("quarantine:row", args=[workspace, run, row_id])


@register.filter
def named(key: str, names: dict[str, str] | None) -> str:
    """What a name stands for; the name itself where nobody knows."""
    return (names or {}).get(key, key)


@register.filter
@cache
def state_badge(state: str | None) -> SafeString:
    """A run's state as colour, icon and words."""
    colour, symbol, words = STATES.get(state or "", ("secondary", "minus", (state or "never run").replace("_", " ")))
    return format_html('<span class="badge bg-{}-lt state">{}{}</span>', colour, icon(symbol), words)


@register.simple_tag(takes_context=True)
def nav_attributes(context: template.Context, namespace: str) -> SafeString | str:
    """`aria-current` for the menu's entry whose pages this one belongs to."""
    match = getattr(context.get("request"), "resolver_match", None)
    return SafeString('aria-current="page"') if match and match.namespace == namespace else ""


@register.simple_tag(takes_context=True)
def with_query(context: template.Context, **changes: object) -> str:
    """This page's query string with some parameters set, or left out where the value is None or empty."""
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query.pop(name, None)
        if value not in (None, ""):
            query[name] = str(value)
    return f"?{query.urlencode()}"
