"""The pages of health, and the endpoint that container health checks ask."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse

from flowapp.health.selectors import health_document
from flowapp.web.access import page
from flowapp.web.htmx import HtmxRequest, render_page


def health(request: HttpRequest) -> JsonResponse:
    """200 while the web process can do its work, which needs the database; 503 otherwise."""
    document = health_document()
    return JsonResponse(document, status=200 if document["database"]["status"] == "ok" else 503)


@page()
def home(request: HtmxRequest) -> HttpResponse:
    return render_page(request, "health/home.html", {})


@page()
def widget(request: HtmxRequest) -> HttpResponse:
    return render_page(request, "health/_widget.html", {})
