"""Runs over rejected rows."""

from __future__ import annotations

from typing import Any

from flowapp.quarantine.records import rows_of
from flowapp.quarantine.results import page_results
from flowapp.runs.models import Run, RunKind
from flowapp.runs.run_kinds import OverRows, RunKindSpec
from flowapp.web.htmx import HtmxRequest
from ir.errors import FlowError


def row_results(request: HtmxRequest, run: Run) -> dict[str, Any]:
    """Return a page of the results of a replay's rows, or the error of their database, which does not hide the run's
    page."""
    counted = run.stored_report.row_results
    if not counted:
        return {}
    result = request.GET.get("result", "")
    filters = result if result in counted else None
    try:
        found = page_results(run, result=filters, cursor=request.GET.get("cursor", ""))
    except FlowError as error:
        return {"row_results_error": error}
    return {"row_results": found, "result": filters}


OVER_ROWS = (
    RunKindSpec(
        RunKind.REPLAY,
        "quarantine/run.html",
        "quarantine/_run.html",
        rows=rows_of,
        tag="replay",
        again="Run the pipeline",
        over_rows=OverRows("Replay of rejected rows", loads=True, decides=True),
        page_context=row_results,
    ),
    RunKindSpec(
        RunKind.RECHECK,
        "quarantine/run.html",
        "quarantine/_run.html",
        rows=rows_of,
        tag="recheck",
        changes_nothing=True,
        over_rows=OverRows("Check of rejected rows", lists=True, note="Nothing is loaded or changed."),
    ),
    RunKindSpec(
        RunKind.FIX,
        "quarantine/run.html",
        "quarantine/_run.html",
        rows=rows_of,
        tag="fix",
        fixes=True,
        over_rows=OverRows(
            "Fix of rejected rows", decides=True, note="Nothing is loaded. The original values are not changed."
        ),
    ),
)
DECIDED = frozenset(spec.kind for spec in OVER_ROWS if spec.over_rows and spec.over_rows.decides)
"""Kinds of runs that apply a decision about rejected rows."""
