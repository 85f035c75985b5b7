"""Who is who, and who may do what."""

from __future__ import annotations

from django.utils import timezone

from flowapp.accounts.keys import digest_of
from flowapp.accounts.models import Membership, Token, User, Workspace
from ir.errors import FlowError


class UnknownWorkspace(FlowError):
    def __init__(self, slug: str) -> None:
        known = ", ".join(Workspace.objects.order_by("slug").values_list("slug", flat=True)[:20]) or "none yet"
        super().__init__("workspace.unknown", f"There is no workspace {slug!r}.", hint=f"Workspaces: {known}.")


def get_workspace(slug: str) -> Workspace:
    """The workspace of that name; raises UnknownWorkspace."""
    try:
        return Workspace.objects.get(slug=slug)
    except Workspace.DoesNotExist:
        raise UnknownWorkspace(slug) from None


def get_role(user: User, workspace: Workspace) -> str | None:
    """The user's role in the workspace; None for strangers."""
    return Membership.objects.filter(user=user, workspace=workspace).values_list("role", flat=True).first()


def get_token(key: str) -> Token | None:
    """The token of that text, unless it has expired or its maker was shut out."""
    tokens = Token.objects.select_related("workspace", "created_by").exclude(created_by__is_active=False)
    return tokens.filter(digest=digest_of(key), expires_at__gt=timezone.now()).first()
