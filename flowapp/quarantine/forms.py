"""Read filters of rejected rows from requests."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from executors.target_database import STATUSES
from flowapp.accounts.roles import require_values
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.selectors import get_run
from flowapp.web.htmx import HtmxRequest
from ir.errors import FlowError

LONGEST_SEARCH = 200


def filters_of(request: HtmxRequest, given: Mapping[str, str]) -> EntryFilter:
    """Return the filters of a request. Raises FlowError for an unknown pipeline or run, for a search by a role that
    sees no values, and for an invalid text, status or day: an ignored filter would show, export or delete all
    rows."""
    slug, run = given.get("pipeline"), given.get("run")
    search = _text(given, "search").strip()[:LONGEST_SEARCH]
    if search:
        require_values(request.role)
    replay = given.get("replay")
    return EntryFilter(
        pipeline=get_pipeline(request.workspace, slug) if slug else None,
        run=get_run(request.workspace, run) if run else None,
        rule=_text(given, "rule") or None,
        field=_text(given, "field") if "field" in given else None,
        status=_status(given.get("status", "")),
        day=_day(given.get("day", "")),
        replay=str(get_run(request.workspace, replay).pk) if replay else None,
        search=search or None,
    )


def _text(given: Mapping[str, str], name: str) -> str:
    text = given.get(name, "")
    if "\0" in text:
        raise FlowError("filter.invalid", f"The {name} has a NUL character.", hint="PostgreSQL stores none: remove it.")
    return text


def _status(text: str) -> str | None:
    if text and text not in STATUSES:
        raise FlowError("filter.invalid", f"There is no status {text[:40]!r}.", hint=f"Use {', '.join(STATUSES)}.")
    return text or None


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise FlowError("filter.invalid", f"{text[:40]!r} is not a date.", hint="Write it like 2026-01-31.") from None
