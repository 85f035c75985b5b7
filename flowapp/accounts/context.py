"""The template context of every page."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from flowapp.accounts.models import Membership
from flowapp.accounts.roles import is_at_least
from flowapp.accounts.selectors import list_memberships
from flowapp.web.navigation import ENTRIES


def shell(request: HttpRequest) -> dict[str, Any]:
    """Return the workspace, the user's permissions in it, and the menu. A query runs only if the template draws the
    menu."""
    role: str | None = getattr(request, "role", None)
    return {
        "workspace": getattr(request, "workspace", None),
        "role": role,
        "can_edit": role is not None and is_at_least(role, "editor"),
        "is_admin": role is not None and is_at_least(role, "admin"),
        "navigation": [entry for entry in ENTRIES if role is not None and is_at_least(role, entry.role)],
        "memberships": SimpleLazyObject(lambda: _memberships(request)),
    }


def _memberships(request: HttpRequest) -> list[Membership]:
    user = getattr(request, "user", None)
    return list_memberships(user) if user is not None and user.is_authenticated else []
