"""Locks rows until the caller's transaction ends, in PostgreSQL and in SQLite.

An UPDATE that changes nothing holds its row in both. Who needs several rows takes the user before the workspace.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from flowapp.accounts.errors import AccountError
from flowapp.accounts.models import User, Workspace


def hold_user(user_id: UUID) -> User:
    """The account as it is by now."""
    User.objects.filter(pk=user_id).update(email=F("email"))
    return User.objects.get(pk=user_id)


def hold_signed_in(user: User) -> User:
    """The account of a request, if that request would still be signed in. Raises AccountError."""
    held = hold_user(user.pk)
    require_signed_in(user, held)
    return held


def require_signed_in(user: User, held: User) -> None:
    """Raises AccountError when the credentials of `user`, as the request began, have ended since."""
    if not held.is_active or held.password != user.password:
        raise AccountError(
            "account.signed_out",
            "Your session, token or password has ended since this request began.",
            hint="Sign in and try again.",
        )


def hold_workspace(workspace_id: UUID) -> None:
    """Nobody else changes the workspace's members meanwhile."""
    Workspace.objects.filter(pk=workspace_id).update(slug=F("slug"))
