"""Convert FlowErrors to HTTP responses: a status, and a page or fragment."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from django.core.exceptions import DisallowedHost
from django.db import DataError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from executors.errors import Transient
from flowapp.error_codes import ERROR_CODES
from ir.errors import FlowError

logger = logging.getLogger(__name__)


def status_of(error: FlowError) -> int:
    """Return the HTTP status of an error code; 422 for codes of diagnostics."""
    if isinstance(error, Transient):
        return 503
    return ERROR_CODES[error.code].status if error.code in ERROR_CODES else 422


def make_error_id() -> str:
    """Return an id that a user can quote and that the log contains."""
    return secrets.token_hex(4)


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def to_messages(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Show a fragment's error in `#messages` and leave the rest of the page unchanged."""
    if is_htmx(request):
        response.headers["HX-Retarget"] = "#messages"
        response.headers["HX-Reswap"] = "innerHTML show:top"
    return response


def show_error(request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
    """Render an error. `context` has `error` (code, message, hint), `error_id` and `status`."""
    name = "errors/_error.html" if is_htmx(request) else "errors/error.html"
    values = {**context, "form_page": form_page(request)}
    return to_messages(request, render(request, name, values, status=status))


def form_page(request: HttpRequest) -> str:
    """Return the page whose form was refused."""
    came_from = request.headers.get("Referer", "")
    try:
        own_hosts = {request.get_host()}
    except DisallowedHost:
        return ""
    is_own = url_has_allowed_host_and_scheme(came_from, own_hosts, require_https=request.is_secure())
    return came_from if request.method == "POST" and is_own else ""


def render_error(request: HttpRequest, error: FlowError) -> HttpResponse:
    """Render a FlowError as a page, or for htmx as a message."""
    error_id, status = make_error_id(), status_of(error)
    logger.info("%s %s answered %s: %s (id %s)", request.method, request.path, status, error, error_id)
    return show_error(request, {"error": error, "error_id": error_id, "status": status}, status)


def unstorable_refused(request: HttpRequest, error: Exception, body: Any = None) -> FlowError | None:
    """Return the response if the failure was caused by a character of the request that no database stores in a text;
    None otherwise. `body` is the parsed JSON of the request."""
    is_driver_failure = isinstance(error, FlowError) and error.code == "target.driver_failed"
    if not (is_driver_failure or isinstance(error, DataError | psycopg.DataError | UnicodeEncodeError)):
        return None
    texts = [*_texts_of(request), *_texts_in(body)]
    if any("\0" in text for text in texts):
        return FlowError(
            "request.nul",
            "The request contains a NUL character, which is not allowed.",
            hint="Remove it from the address or the input.",
        )
    if any(_SURROGATE.search(text) for text in texts):
        return FlowError(
            "request.half_character",
            "The request contains an incomplete surrogate pair, which is not allowed.",
            hint="Remove it from the address or the input.",
        )
    return None


_SURROGATE = re.compile("[\ud800-\udfff]")


def _texts_of(request: HttpRequest) -> Iterator[str]:
    yield request.path
    for given in (request.GET, request.POST):
        for name, values in given.lists():
            yield from (name, *map(str, values))


def _texts_in(value: Any) -> Iterator[str]:
    """Yield all texts of a JSON value, up to the depth that bodies may have."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from (name, *_texts_in(part))
    elif isinstance(value, list):
        for part in value:
            yield from _texts_in(part)


def _not_allowed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Render a page for a wrong method: Django's own response is empty."""
    error = FlowError(
        "request.method",
        f"This address does not support {request.method}.",
        hint="Go back and use the links and buttons of the page.",
    )
    shown = render_error(request, error)
    shown.headers["Allow"] = response.headers["Allow"]
    return shown


class FlowErrorMiddleware:
    """Turn every FlowError that a page raises into a response."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 405 and not response.streaming and not response.content:
            return _not_allowed(request, response)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        error = unstorable_refused(request, exception) or exception
        return render_error(request, error) if isinstance(error, FlowError) else None
