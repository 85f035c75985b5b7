"""Queries for users, memberships and tokens."""

from __future__ import annotations

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.utils import timezone

from flowapp.accounts.keys import digest_of
from flowapp.accounts.models import Membership, Token, User, Workspace
from flowapp.accounts.roles import weaker
from ir.errors import FlowError


class UnknownWorkspace(FlowError):
    def __init__(self, slug: str) -> None:
        known = ", ".join(Workspace.objects.order_by("slug").values_list("slug", flat=True)[:20]) or "none yet"
        super().__init__("workspace.unknown", f"There is no workspace {slug!r}.", hint=f"Workspaces: {known}.")


def get_workspace(slug: str) -> Workspace:
    """Return the workspace of that name. Raises UnknownWorkspace."""
    try:
        return Workspace.objects.get(slug=slug)
    except Workspace.DoesNotExist:
        raise UnknownWorkspace(slug) from None


def get_token(key: str) -> Token | None:
    """Return the token of that text, or None if it has expired or its creator is deactivated or no longer a member.

    `granted_role` is its current role, which is lower than the stored one if the creator's role was lowered.
    """
    creators = Membership.objects.filter(user=OuterRef("created_by"), workspace=OuterRef("workspace"))
    tokens = Token.objects.select_related("workspace", "created_by").exclude(created_by__is_active=False)
    tokens = tokens.annotate(creators_role=Subquery(creators.values("role")))
    token = tokens.filter(digest=digest_of(key), expires_at__gt=timezone.now()).first()
    if token is None or (token.created_by_id and token.creators_role is None):
        return None
    token.granted_role = weaker(token.role, token.creators_role) if token.created_by_id else token.role
    return token


def governs(admin: User, user: User) -> bool:
    """Return whether `admin` is an active admin of every workspace of `user`, who must have at least one."""
    user_workspaces = set(Membership.objects.filter(user=user).values_list("workspace_id", flat=True))
    mine = Membership.objects.filter(user=admin, role="admin", user__is_active=True)
    return bool(user_workspaces) and user_workspaces <= set(mine.values_list("workspace_id", flat=True))


def list_memberships(user: User) -> list[Membership]:
    """Return the user's workspaces, each with the user's role in it."""
    return list(Membership.objects.filter(user=user).select_related("workspace").order_by("workspace__slug"))


def may_make_workspaces(user: User) -> bool:
    """Return whether the user is an admin of the installation's first workspace and so may create workspaces."""
    mine = Membership.objects.filter(user=user, role="admin")
    return mine.filter(workspace__slug=settings.FLOW_WORKSPACE).exists()


def list_members(workspace: Workspace) -> QuerySet[Membership]:
    return Membership.objects.filter(workspace=workspace).select_related("user").order_by("user__email")


def list_tokens(workspace: Workspace) -> QuerySet[Token]:
    """List all tokens, expired ones included, so that users can see why a program stopped working."""
    return Token.objects.filter(workspace=workspace).select_related("created_by").order_by("name")


def has_anybody_signed_in() -> bool:
    return User.objects.filter(is_active=True).exclude(last_login=None).exists()


def get_workspace_token(workspace: Workspace, **which: object) -> Token:
    """Return the workspace's token of that `name` or `pk`. Raises FlowError."""
    try:
        return list_tokens(workspace).get(**which)
    except Token.DoesNotExist:
        named = which.get("name") or which.get("pk")
        raise FlowError(
            "token.unknown", f"There is no token {str(named)!r} here.", hint="The Settings page lists all tokens."
        ) from None
