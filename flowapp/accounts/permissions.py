"""API permissions: find the workspace of a request and check the role in it. See `flowapp.accounts.access` for
pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from flowapp.accounts.access import Access, member_access
from flowapp.accounts.models import Token
from flowapp.api import headers
from ir.errors import FlowError

if TYPE_CHECKING:
    from rest_framework.views import APIView

    from flowapp.accounts.requests import Request as AllowedRequest

PARAMETER = "workspace"


class WorkspaceNotNamed(FlowError):
    def __init__(self) -> None:
        super().__init__(
            "workspace.not_named",
            "The request does not say which workspace it is for.",
            hint=f"Send the header {headers.WORKSPACE}: <slug>, or ?{PARAMETER}=<slug>.",
        )


def access_of(request: Request | HttpRequest) -> Access:
    """Return the token's own workspace and role, else those of the named workspace. Raises Http404 or
    WorkspaceNotNamed."""
    token = getattr(request, "auth", None)
    if isinstance(token, Token):
        return Access(token.workspace, token.granted_role)
    slug = request.headers.get(headers.WORKSPACE) or request.GET.get(PARAMETER)
    if not slug:
        raise WorkspaceNotNamed
    return member_access(request.user, slug)


class WorkspaceRole(BasePermission):
    """Require role `read` for safe methods and `write` for all others. Sets `request.workspace` and `request.role`."""

    read, write = "viewer", "editor"

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        access = access_of(request)
        allowed = cast("AllowedRequest", request)
        allowed.workspace, allowed.role = access.workspace, access.role
        access.require(self.read if request.method in SAFE_METHODS else self.write)
        if request.method not in SAFE_METHODS and is_json(request):
            _ = request.data  # Reject an unreadable body even if the view does not use it.
        return True


def is_json(request: Request) -> bool:
    """Return whether the content type of the body is JSON."""
    return (request.content_type or "").partition(";")[0].strip().lower().endswith("json")


def workspace_role(*, read: str = "viewer", write: str = "editor") -> type[WorkspaceRole]:
    """Return a permission class for `permission_classes` with roles other than viewer for reading and editor for
    writing."""
    return type("WorkspaceRole", (WorkspaceRole,), {"read": read, "write": write})
