"""Limit sign-in attempts. An attempt is counted before the password is checked, so that concurrent attempts all count.

The counts are rows, so that all web processes share them and a restart keeps them. docs/operations/accounts.md
describes what is counted, and why other people's guesses do not lock a user out of known networks and browsers.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F

from flowapp.accounts.clients import Client, secret_hash
from flowapp.accounts.models import FailedAttempts
from flowapp.clock import Now, from_now
from ir.errors import FlowError

MOST_FAILURES = 10
"""Wrong passwords of one user from one network, or in one browser that the user has signed in with."""
MOST_FAILURES_OF_A_NETWORK = 100
"""Wrong passwords from one network, over all users who have never signed in from it."""
MOST_FAILURES_FROM_ELSEWHERE = 100
"""Wrong passwords of one user from all networks that the user has never signed in from."""
PAUSE_SECONDS = 15 * 60


class TooManyFailures(FlowError):
    def __init__(self) -> None:
        super().__init__(
            "login.throttled",
            "Too many wrong passwords.",
            hint="Wait 15 minutes, use a browser that you have signed in with before, or sign in with a one-time link: "
            "`flow user link EMAIL`.",
        )


def count_guess(client: Client) -> None:
    """Count an attempt as wrong until `forgive_guess` is called. At a limit, raises TooManyFailures and counts
    nothing."""
    with transaction.atomic():
        # Lock in a fixed order to avoid a deadlock.
        for key, most in sorted(_limits(client).items()):
            if not count_attempt(key, most):
                raise TooManyFailures


def forgive_guess(client: Client) -> None:
    """Reset the user's own count for this client after a correct password; restore the shared counts."""
    mine, *others = _limits(client)
    forgive_attempts(mine)
    return_attempt(*others)


def forgive_attempts(key: str) -> None:
    FailedAttempts.objects.filter(key=key).update(count=0)


def return_attempt(*keys: str) -> None:
    """Restore one attempt of each key."""
    FailedAttempts.objects.filter(key__in=keys, count__gt=0).update(count=F("count") - 1)


def has_attempts(key: str) -> bool:
    """Return whether attempts were counted under the key, forgiven or not, since the last clean-up."""
    return FailedAttempts.objects.filter(key=key).exists()


def count_attempt(key: str, most: int) -> bool:
    """Use up one remaining attempt; return False if there is none. Counting restarts after the pause."""
    row = FailedAttempts.objects.filter(key=key)
    fresh = {"count": 0, "until": from_now(PAUSE_SECONDS)}
    FailedAttempts.objects.bulk_create([FailedAttempts(key=key, **fresh)], ignore_conflicts=True)
    row.filter(until__lte=Now()).update(**fresh)
    return bool(row.filter(count__lt=most).update(count=F("count") + 1))


def _limits(client: Client) -> dict[str, int]:
    """Return the hashes to count under, with the number of guesses each allows. The user's own comes first."""
    if client.browser:
        return {secret_hash("browser", client.email, client.browser): MOST_FAILURES}
    mine = {secret_hash("person", client.email, client.network): MOST_FAILURES}
    if client.is_known_network:
        return mine
    return mine | {
        secret_hash("network", client.network): MOST_FAILURES_OF_A_NETWORK,
        secret_hash("elsewhere", client.email): MOST_FAILURES_FROM_ELSEWHERE,
    }
