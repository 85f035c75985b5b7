"""The log of a run: pages, older lines for the run's page, and a text file."""

from __future__ import annotations

from datetime import datetime
from itertools import starmap
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from flowapp.accounts.access import page
from flowapp.runs.selectors import LOG_COLUMNS, get_run, list_log, page_log
from flowapp.web.htmx import HtmxRequest, render_page
from flowapp.web.sorting import read_sorting


@require_GET
@page()
def log(request: HtmxRequest, run: UUID) -> HttpResponse:
    """Show a page of the log. For htmx, return only the lines, to insert before those of the run's page."""
    sorting = read_sorting(request.GET.get("sort", ""), LOG_COLUMNS)
    found = page_log(run_found := get_run(request.workspace, run), request.GET.get("cursor", ""), sorting.order)
    context = {"run": run_found, "found": found, "sorting": sorting, "log": found.rows[::-1], "older": found.next}
    return render_page(request, "runs/log.html", context, fragment="runs/_log_lines.html")


@require_GET
@page()
def log_text(request: HtmxRequest, run: UUID) -> HttpResponse:
    """Return the whole log as a download, oldest line first."""
    found = get_run(request.workspace, run)
    lines = list_log(found).values_list("at", "level", "node", "message")
    text = "".join(starmap(_as_text, lines.iterator()))
    response = HttpResponse(text, content_type="text/plain; charset=utf-8")
    name = f"{found.pipeline.slug}-{found.number}.log"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _as_text(at: datetime, level: str, node: str, message: str) -> str:
    """Format one entry; further lines of its message are indented."""
    message = message.replace("\n", "\n    ")
    return f"{at.replace(tzinfo=None).isoformat(timespec='microseconds')}Z {level} {node or '-'} {message}\n"
