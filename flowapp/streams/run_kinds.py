"""The kind of run that follows a stream."""

from __future__ import annotations

from typing import Any

from flowapp.runs.models import Run, RunKind
from flowapp.runs.run_kinds import RunKindSpec
from flowapp.streams.control import add_to_ports, follow
from flowapp.streams.selectors import chart_of, find_view, totals_of
from flowapp.web.htmx import HtmxRequest


def page_context(request: HtmxRequest, run: Run) -> dict[str, Any]:
    """Return what the page of a run shows of its stream."""
    view = find_view(run.pipeline)
    if view is None:
        return {}
    return {"view": view, "bars": chart_of(view.stream), "totals": totals_of(view.stream)}


STREAM = RunKindSpec(
    RunKind.STREAM,
    "runs/detail.html",
    "streams/_run.html",
    tag="stream",
    again="Start the stream",
    page_context=page_context,
    own_engine=follow,
    add_to_ports=add_to_ports,
    repeats=True,
)
