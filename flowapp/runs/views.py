"""The pages of runs."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse

from flowapp.runs.selectors import get_run
from flowapp.web.access import page
from flowapp.web.htmx import HtmxRequest, render_page


@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    return render_page(request, "runs/list.html", {})


@page()
def detail(request: HtmxRequest, run: UUID) -> HttpResponse:
    return render_page(request, "runs/detail.html", {"run": get_run(request.workspace, run)})
