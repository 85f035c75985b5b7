"""What narrows rejected rows down, as pages are asked for it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

from executors.postgres.quarantine_pages import STATUSES
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.selectors import Wanted
from flowapp.quarantine.values import require_values
from flowapp.runs.selectors import get_run
from flowapp.web.htmx import HtmxRequest

LONGEST_SEARCH = 200


def wanted_of(request: HtmxRequest, given: Mapping[str, str]) -> Wanted:
    """Raises FlowError for a pipeline or run that is not of this workspace, and for a search by who sees no values.
    What makes no sense narrows nothing."""
    ident, run, status = given.get("pipeline"), given.get("run"), given.get("status")
    search = given.get("search", "").strip()[:LONGEST_SEARCH]
    if search:
        require_values(request.role)
    replay = given.get("replay")
    return Wanted(
        pipeline=get_pipeline(request.workspace, ident) if ident else None,
        run=get_run(request.workspace, run) if run else None,
        rule=given.get("rule") or None,
        field=given.get("field"),
        status=status if status in STATUSES else None,
        day=_day(given.get("day", "")),
        replay=str(get_run(request.workspace, replay).pk) if replay else None,
        search=search or None,
    )


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
