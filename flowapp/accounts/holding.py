"""Lock rows until the caller's transaction ends, in PostgreSQL and in SQLite.

An UPDATE that changes nothing locks its row in both. To avoid deadlocks, callers lock the user before the workspace.
"""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from flowapp.accounts.errors import AccountError
from flowapp.accounts.models import User, Workspace


def hold_user(user_id: UUID) -> User:
    """Lock the user's row and return its current state."""
    User.objects.filter(pk=user_id).update(email=F("email"))
    return User.objects.get(pk=user_id)


def hold_signed_in(user: User) -> User:
    """Lock and return the user of a request. Raises AccountError if the user's credentials have ended since."""
    held = hold_user(user.pk)
    require_signed_in(user, held)
    return held


def require_signed_in(user: User, held: User) -> None:
    """Raise AccountError if the credentials with which the request of `user` began have ended since."""
    if not held.is_active or held.password != user.password:
        raise AccountError(
            "account.signed_out",
            "Your session, token or password has ended since this request began.",
            hint="Sign in and try again.",
        )


def hold_workspace(workspace_id: UUID) -> None:
    """Lock the workspace, so that nobody else changes its members meanwhile."""
    Workspace.objects.filter(pk=workspace_id).update(slug=F("slug"))
