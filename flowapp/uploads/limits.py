"""The maximum size of a request's body. Only routes and users that may upload files get the large limit."""

from __future__ import annotations

from collections.abc import MutableMapping
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest
from django.urls import Resolver404, resolve
from rest_framework.exceptions import APIException

from flowapp.accounts.access import member_access
from flowapp.accounts.authentication import TokenAuthentication
from flowapp.accounts.permissions import access_of
from flowapp.accounts.roles import is_at_least
from ir.errors import FlowError

UPLOADS = ("files:upload", "starting:upload", "api:upload_file")
FORM_BYTES = 100_000
"""The bytes of a form in addition to its file."""


def body_limit(scope: MutableMapping[str, Any]) -> int:
    """Return the maximum size of a request's body in bytes."""
    try:
        match = resolve(scope["path"])
    except Resolver404:
        return int(settings.BODY_BYTES)
    if match.view_name not in UPLOADS or scope["method"] != "POST":
        return int(settings.BODY_BYTES)
    return settings.UPLOAD_BYTES + FORM_BYTES if _may_upload(scope, match.kwargs) else settings.BODY_BYTES


def _may_upload(scope: MutableMapping[str, Any], named: dict[str, Any]) -> bool:
    request: Any = ASGIRequest(scope, BytesIO())
    try:
        return is_at_least(_role(request, named), "editor")
    except (APIException, FlowError, Http404, UnicodeDecodeError):
        return False  # the view reports the reason


def _role(request: Any, named: dict[str, Any]) -> str:
    request.session = _session(request)
    found = TokenAuthentication().authenticate(request)
    request.user, request.auth = found or (get_user(request), None)
    if "workspace" in named:
        return member_access(request.user, named["workspace"]).role
    return access_of(request).role


def _session(request: HttpRequest) -> Any:
    from importlib import import_module

    engine = import_module(settings.SESSION_ENGINE)
    return engine.SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
