"""The pages of connections."""

from __future__ import annotations

from django.http import HttpResponse

from flowapp.web.access import page
from flowapp.web.htmx import HtmxRequest, render_page


@page()
def list_page(request: HtmxRequest) -> HttpResponse:
    return render_page(request, "connections/list.html", {})
