"""Roles, from the one that may do least to the one that may do all."""

from __future__ import annotations

from ir.errors import FlowError

ROLES = ("viewer", "editor", "admin")


class UnknownRole(FlowError):
    def __init__(self, role: str) -> None:
        super().__init__("role.unknown", f"There is no role {role!r}.", hint=f"Roles: {', '.join(ROLES)}.")


def require_role_name(role: str) -> str:
    """The role itself; raises UnknownRole."""
    if role not in ROLES:
        raise UnknownRole(role)
    return role


def is_at_least(role: str, needed: str) -> bool:
    """Whether `role` may do whatever `needed` may do."""
    return ROLES.index(role) >= ROLES.index(needed)


def weaker(one: str, other: str) -> str:
    """The role of the two that may do less."""
    return min(one, other, key=ROLES.index)
