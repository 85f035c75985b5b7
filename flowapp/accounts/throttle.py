"""Slows down guessing of passwords: a few wrong ones per person, more per network address, then a pause.

The counts are rows, so that all web processes count together, and a restart forgets nothing.
"""

from __future__ import annotations

import hashlib

from django.db.models import F
from django.db.models.functions import Now

from flowapp.accounts.models import LoginFailures
from flowapp.clock import from_now
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
    limits = _keys(email, address)
    counted = LoginFailures.objects.filter(key__in=limits, until__gt=Now()).values_list("key", "count")
    if any(count >= limits[key] for key, count in counted):
        raise TooManyFailures


def count_failure(email: str, address: str) -> None:
    """Counting begins anew once a pause is over."""
    for key in _keys(email, address):
        fresh = LoginFailures.objects.filter(key=key, until__gt=Now())
        if not fresh.update(count=F("count") + 1):
            LoginFailures.objects.update_or_create(key=key, defaults={"count": 1, "until": from_now(PAUSE_SECONDS)})


def _keys(email: str, address: str) -> dict[str, int]:
    limits = {f"person {email.lower()}": MOST_FAILURES, f"address {address}": MOST_FAILURES_OF_AN_ADDRESS}
    return {hashlib.sha256(name.encode()).hexdigest(): most for name, most in limits.items()}
