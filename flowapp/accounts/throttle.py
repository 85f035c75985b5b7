"""Slows down guessing of passwords: a few wrong ones per person, more per network address, then a pause."""

from __future__ import annotations

import hashlib

from django.core.cache import cache

from ir.errors import FlowError

MOST_FAILURES = 10
# Behind a proxy that does not say who asks, everybody has the same address.
MOST_FAILURES_OF_AN_ADDRESS = 100
PAUSE_SECONDS = 15 * 60


class TooManyFailures(FlowError):
    def __init__(self) -> None:
        super().__init__(
            "login.throttled",
            "There were too many wrong passwords.",
            hint="Wait 15 minutes, or sign in by a one-time link: `flow user link EMAIL`.",
        )


def check_throttle(email: str, address: str) -> None:
    """Raises TooManyFailures once that person or network address has failed too often."""
    if any(cache.get(key, 0) >= limit for key, limit in _keys(email, address).items()):
        raise TooManyFailures


def count_failure(email: str, address: str) -> None:
    for key in _keys(email, address):
        cache.add(key, 0, PAUSE_SECONDS)
        cache.incr(key)


def _keys(email: str, address: str) -> dict[str, int]:
    limits = {f"person {email.lower()}": MOST_FAILURES, f"address {address}": MOST_FAILURES_OF_AN_ADDRESS}
    return {"login-failures:" + hashlib.sha256(name.encode()).hexdigest(): most for name, most in limits.items()}
