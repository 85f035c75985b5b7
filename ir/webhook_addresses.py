"""The addresses that webhooks may use: https on the public Internet, in any notation of an address."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssrfguard import Policy


@cache
def public_policy() -> Policy:
    # Imported here, because specs are sent to machines that run tasks and do not need the guard.
    from ssrfguard import Policy

    return Policy(allowed_schemes=frozenset({"https"}), allowed_ports=frozenset(range(1, 65536)))


def is_public(url: str) -> bool:
    """Return whether the address is public according to its text. A name is resolved only when a request is sent."""
    from ssrfguard import SSRFGuardError

    try:
        public_policy().check_url(url)
    except SSRFGuardError:
        return False
    return True
