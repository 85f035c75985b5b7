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
    """The person is known here and may not do this."""

    def __init__(self, role: str, needed: str, workspace: Workspace) -> None:
        super().__init__(
            "role.too_low",
            f"You need the role {needed}; your role in workspace {workspace.slug} is {role}.",
            hint="An admin of the workspace can change your role on the Settings page.",
        )
        self.role, self.needed = role, needed


@dataclass(frozen=True, slots=True)
class Access:
    """What a person or a token may do in one workspace. Tokens have no membership."""

    workspace: Workspace
    role: str
    membership: Membership | None = None

    def require(self, needed: str) -> None:
        """Raises RoleTooLow."""
        if not is_at_least(self.role, needed):
            raise RoleTooLow(self.role, needed, self.workspace)


def member_access(user: User | AnonymousUser, slug: str) -> Access:
    """What the user may do in the workspace; to strangers it does not exist, and Http404 is raised."""
    members = Membership.objects.select_related("workspace").filter(workspace__slug=slug)
    found = None if user.pk is None else members.filter(user=user.pk).first()
    if found is None:
        raise Http404("Unknown workspace.")
    return Access(found.workspace, found.role, found)


Answer = TypeVar("Answer", bound=HttpResponseBase)


def page(role: str = "viewer") -> Callable[[Callable[..., Answer]], Callable[..., Answer | HttpResponse]]:
    """A view below `/w/<workspace>/` for members with at least that role.

    The view is called without the `workspace` of its URL: `request` has `workspace`, `role` and `membership`.
    Anonymous people are sent to the login, strangers get 404, too low a role the page of RoleTooLow.
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
    """A view outside any workspace for whoever has signed in."""

    @wraps(view)
    def checked(request: HtmxRequest, **kwargs: Any) -> Answer | HttpResponse:
        return view(request, **kwargs) if request.user.is_authenticated else to_login(request)

    return checked


def to_login(request: HtmxRequest) -> HttpResponse:
    """To the login and, after it, back to the page; a fragment takes its whole page along, and a form the page that it
    stands on."""
    came_from = urlsplit(form_page(request))._replace(scheme="", netloc="").geturl()
    here = (request.htmx.current_url_abs_path or "/") if request.htmx else came_from or request.get_full_path()
    target = f"{reverse('accounts:login')}?{urlencode({'next': here})}"
    return HttpResponseClientRedirect(target) if request.htmx else HttpResponseRedirect(target)
