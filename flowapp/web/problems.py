"""Problem bodies (RFC 9457) for programs."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, JsonResponse

from flowapp.error_codes import ERROR_CODES, anchor_of
from flowapp.web.errors import make_error_id

logger = logging.getLogger(__name__)

CONTENT_TYPE = "application/problem+json"
ERRORS_PAGE = "/docs/errors/"


def problem(status: int, code: str, detail: str, *, hint: str = "", **more: Any) -> dict[str, Any]:
    """Return a problem body. `code` is stable and for programs, `detail` and `hint` are for people."""
    kind = {"type": "about:blank", "title": HTTPStatus(status).phrase}
    if known := ERROR_CODES.get(code):
        kind = {"type": f"{ERRORS_PAGE}#{anchor_of(code)}", "title": known.title}
        hint = hint or known.hint
    return {**kind, "status": status, "code": code, "detail": detail, "hint": hint, **more}


def problem_response(request: HttpRequest, status: int, code: str, detail: str) -> JsonResponse:
    """Return the response for requests that reach no view of the API: unknown addresses, and internal errors."""
    body = problem(status, code, detail, id=make_error_id())
    logger.info("%s %s answered %s (id %s)", request.method, request.path, status, body["id"])
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)
