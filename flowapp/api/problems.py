"""Problem responses (RFC 9457) for all API errors."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from flowapp.api.serializers import ProblemSerializer
from flowapp.web.errors import status_of, unstorable_refused
from flowapp.web.problems import CONTENT_TYPE, problem
from ir.errors import FlowError

OF_FRAMEWORK = {
    "authentication_failed": "request.authentication_failed",
    "method_not_allowed": "request.method",
    "not_acceptable": "request.not_acceptable",
    "not_authenticated": "request.not_authenticated",
    "parse_error": "request.malformed",
    "unsupported_media_type": "request.unsupported_media_type",
}
"""Flow's code for each code of Django REST framework."""


def flow_problem(error: FlowError) -> dict[str, Any]:
    """Build a problem response with the diagnostics of an invalid document, as `flow validate --json` prints them."""
    more = {name: value for name, value in error.to_json().items() if value is not None}
    for name in ("code", "message", "hint"):
        more.pop(name, None)
    return problem(status_of(error), error.code, error.message, hint=error.hint, **more)


def handle_exception(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's `EXCEPTION_HANDLER`. Unexpected exceptions go on to Django, which logs them and calls `handler500`."""
    if not isinstance(error, exceptions.APIException | Http404 | PermissionDenied):
        error = unstorable_refused(context["request"]._request, error, _json_of(context["request"])) or error
    body, headers = _body(error), {}
    if body is None:
        return None
    if isinstance(error, exceptions.APIException):
        wait, authenticate = getattr(error, "wait", None), getattr(error, "auth_header", None)
        headers = {"Retry-After": f"{wait:.0f}"} if wait else {}
        headers |= {"WWW-Authenticate": authenticate} if authenticate else {}
    set_rollback()
    return Response(dict(ProblemSerializer(body).data), body["status"], headers=headers, content_type=CONTENT_TYPE)


def _json_of(request: Request) -> Any:
    if "json" not in (request.content_type or ""):
        return None
    try:
        return request.data
    except Exception:  # noqa: BLE001  (what cannot be read holds no text)
        return None


def _body(error: Exception) -> dict[str, Any] | None:
    if isinstance(error, FlowError):
        return flow_problem(error)
    if isinstance(error, Http404):
        return problem(404, "request.not_found", "Not found, or you do not have access.")
    if isinstance(error, PermissionDenied):
        return problem(403, "request.not_allowed", "This is not allowed.")
    if isinstance(error, exceptions.ValidationError):
        return problem(400, "request.invalid", "Some fields are missing or wrong.", fields=error.get_full_details())
    if isinstance(error, exceptions.APIException):
        return problem(error.status_code, _code(error), str(error.detail))
    return None


def _code(error: exceptions.APIException) -> str:
    codes = error.get_codes()
    code = codes if isinstance(codes, str) else error.default_code
    return OF_FRAMEWORK.get(code, code)
