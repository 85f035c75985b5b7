"""The pages of pipelines."""

from __future__ import annotations

from django.http import HttpResponse

from flowapp.pipelines.selectors import get_pipeline
from flowapp.web.access import page
from flowapp.web.htmx import HtmxRequest, render_page


@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    return render_page(request, "pipelines/list.html", {})


@page()
def edit(request: HtmxRequest, ident: str) -> HttpResponse:
    return render_page(request, "pipelines/edit.html", {"pipeline": get_pipeline(request.workspace, ident)})
