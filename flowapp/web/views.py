"""The error pages, for errors before or outside a view."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from flowapp.web.errors import is_htmx, make_error_id, show_error, to_messages
from flowapp.web.problems import problem_response

logger = logging.getLogger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 400, "request.bad", "The request is invalid.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 403, "request.not_allowed", "This is not allowed.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, 404, "request.not_found", "Not found, or you do not have access.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, 403, "csrf.failed", "The form has expired, or cookies are blocked.")


def server_error(request: HttpRequest) -> HttpResponse:
    """Render an error without session and database, because either may have failed."""
    if _is_api(request):
        return problem_response(request, 500, "server.error", "Internal error.")
    error_id = make_error_id()
    logger.error("%s %s failed (id %s)", request.method, request.path, error_id)
    name = "errors/_500.html" if is_htmx(request) else "errors/500.html"
    return to_messages(request, HttpResponse(render_to_string(name, {"error_id": error_id}), status=500))


HINTS = {
    "request.bad": "Go back and try again.",
    "request.not_allowed": "Ask an admin of the workspace for a higher role.",
    "request.not_found": "Check the address, or start from the list of pipelines.",
    "csrf.failed": "Go back, reload the page, and send the form again. Nothing was changed.",
}


def _answer(request: HttpRequest, status: int, code: str, message: str) -> HttpResponse:
    if _is_api(request):
        return problem_response(request, status, code, message)
    error = {"code": code, "message": message, "hint": HINTS[code]}
    context = {"error": error, "error_id": make_error_id(), "status": status}
    logger.info("%s %s answered %s (id %s)", request.method, request.path, status, context["error_id"])
    return show_error(request, context, status)


def _is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")
