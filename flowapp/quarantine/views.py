"""The pages of quarantine."""

from __future__ import annotations

from django.http import HttpResponse

from flowapp.web.access import page
from flowapp.web.htmx import HtmxRequest, render_page


@page()
def home(request: HtmxRequest) -> HttpResponse:
    return render_page(request, "quarantine/home.html", {})
