"""Decides who may see a workspace and act in it, for pages and for the API alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from django.contrib.auth.models import AnonymousUser
from django.http import Http404, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from flowapp.accounts.models import Membership, User, Workspace
from flowapp.accounts.roles import is_at_least, require_role_name
from flowapp.web.errors import form_page
from flowapp.web.htmx import HtmxRequest
from ir.errors import FlowError


class RoleTooLow(FlowError):
    """The user is a member of the workspace, but the role does not allow the action."""

    def __init__(self, role: str, needed: str, workspace: Workspace) -> None:
        super().__init__(
            "role.too_low",
            f"You need the role {needed}; your role in workspace {workspace.slug} is {role}.",
            hint="An admin of the workspace can change your role on the Settings page.",
        )
        self.role, self.needed = role, needed


@dataclass(frozen=True, slots=True)
class Access:
    """What a user or an API token may do in one workspace. A token has no membership."""

    workspace: Workspace
    role: str
    membership: Membership | None = None

    def require(self, needed: str) -> None:
        """Raises RoleTooLow."""
        if not is_at_least(self.role, needed):
            raise RoleTooLow(self.role, needed, self.workspace)


def member_access(user: User | AnonymousUser, slug: str) -> Access:
    """Return what the user may do in the workspace. Raises Http404 if the user is not a member."""
    members = Membership.objects.select_related("workspace").filter(workspace__slug=slug)
    found = None if user.pk is None else members.filter(user=user.pk).first()
    if found is None:
        raise Http404("Unknown workspace.")
    return Access(found.workspace, found.role, found)


Answer = TypeVar("Answer", bound=HttpResponseBase)


def page(role: str = "viewer") -> Callable[[Callable[..., Answer]], Callable[..., Answer | HttpResponse]]:
    """Decorate a view below `/w/<workspace>/` for members with at least the given role.

    The view is called without the `workspace` of its URL; `request` has `workspace`, `role` and `membership` instead.
    Anonymous users are redirected to the login. Users who are not members get 404, members with too low a role get the
    RoleTooLow page.
    """
    require_role_name(role)

    def decorate(view: Callable[..., Answer]) -> Callable[..., Answer | HttpResponse]:
        @wraps(view)
        def checked(request: HtmxRequest, workspace: str, **kwargs: Any) -> Answer | HttpResponse:
            if not request.user.is_authenticated:
                return to_login(request)
            access = member_access(request.user, workspace)
            request.workspace, request.role, request.membership = access.workspace, access.role, access.membership
            access.require(role)
            return view(request, **kwargs)

        return checked

    return decorate


def signed_in(view: Callable[..., Answer]) -> Callable[..., Answer | HttpResponse]:
    """Decorate a view outside any workspace that requires a signed-in user."""

    @wraps(view)
    def checked(request: HtmxRequest, **kwargs: Any) -> Answer | HttpResponse:
        return view(request, **kwargs) if request.user.is_authenticated else to_login(request)

    return checked


def to_login(request: HtmxRequest) -> HttpResponse:
    """Redirect to the login, which then returns to the current page. A fragment reloads its whole page, a form returns
    to the page that contains it."""
    came_from = urlsplit(form_page(request))._replace(scheme="", netloc="").geturl()
    here = (request.htmx.current_url_abs_path or "/") if request.htmx else came_from or request.get_full_path()
    target = f"{reverse('accounts:login')}?{urlencode({'next': here})}"
    return HttpResponseClientRedirect(target) if request.htmx else HttpResponseRedirect(target)
