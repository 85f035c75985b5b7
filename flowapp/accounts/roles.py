"""Roles, from the weakest to the strongest."""

from __future__ import annotations

from ir.errors import FlowError

ROLES = ("viewer", "editor", "admin")
ROWS_VIEW = "editor"
"""The lowest role that sees the values of rows: they are raw source data."""


class UnknownRole(FlowError):
    def __init__(self, role: str) -> None:
        super().__init__("role.unknown", f"There is no role {role!r}.", hint=f"Roles: {', '.join(ROLES)}.")


def require_role_name(role: str) -> str:
    """Return the role. Raises UnknownRole."""
    if role not in ROLES:
        raise UnknownRole(role)
    return role


def is_at_least(role: str, needed: str) -> bool:
    """Return whether `role` has all permissions of `needed`."""
    return ROLES.index(role) >= ROLES.index(needed)


def weaker(one: str, other: str) -> str:
    """Return the weaker of the two roles."""
    return min(one, other, key=ROLES.index)


def may_see_values(role: str) -> bool:
    return is_at_least(role, ROWS_VIEW)


def require_values(role: str) -> None:
    """Raise FlowError if the role may not see values of rows; a search by value would reveal them."""
    if not may_see_values(role):
        raise FlowError(
            "role.too_low",
            f"You need the role {ROWS_VIEW} to see values of rejected rows. Your role is {role}.",
            hint="An admin of the workspace can change your role on the Settings page.",
        )
