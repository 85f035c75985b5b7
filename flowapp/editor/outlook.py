"""The editor's strip about files and rejected rows, which the page loads separately."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from executors.errors import Failure
from flowapp.accounts.access import page
from flowapp.pipelines import drafts
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.selectors import get_pipeline
from flowapp.quarantine.selectors import KEYS, EntryFilter, page_filtered
from flowapp.runs.load_units.new_files import has_loaded_all
from flowapp.web.htmx import HtmxRequest

MOST_COUNTED = 200
"""The maximum number of entries counted for a page."""


@never_cache
@require_GET
@page()
def outlook(request: HtmxRequest, slug: str) -> HttpResponse:
    """Show the number of open rejected rows, and whether the next run has a file to load."""
    pipeline = get_pipeline(request.workspace, slug)
    draft = drafts.view_draft(drafts.open_draft(pipeline, request.user), looks_at_files=False)
    document = draft.checked.pipeline
    context: dict[str, Any] = {
        "pipeline": pipeline,
        "all_loaded": document is not None and has_loaded_all(pipeline, document),
    }
    try:
        context["open_rows"], context["are_more"] = count_open_rows(pipeline)
    except Failure as failure:
        context["failure"] = failure
    return render(request, "pipelines/_outlook.html", context)


def count_open_rows(pipeline: Pipeline) -> tuple[int, bool]:
    """Return the number of open rejected rows of a pipeline, and whether there are more than were counted. Raises
    Failure if a database does not respond."""
    filters = EntryFilter(pipeline=pipeline, status="open")
    found = page_filtered(pipeline.workspace, filters, limit=MOST_COUNTED, columns=KEYS)
    return len({entry["key"] for entry in found.entries}), bool(found.next)
