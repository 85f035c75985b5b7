"""The health endpoint, for people and for container health checks."""

from __future__ import annotations

from django.http import HttpRequest, JsonResponse

from flowapp.health.selectors import health_document


def health(request: HttpRequest) -> JsonResponse:
    """200 while the web process can do its work, which needs the database; 503 otherwise."""
    document = health_document()
    return JsonResponse(document, status=200 if document["database"]["status"] == "ok" else 503)
