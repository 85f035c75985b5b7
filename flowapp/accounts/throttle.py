"""Limits sign-in attempts. An attempt is counted before the password is checked, so that concurrent attempts all count.

The counts are rows, so that all web processes count together, and a restart forgets nothing. docs/accounts.md tells
what is counted, and why nobody is locked out by others from where they have signed in before.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from flowapp.accounts.clients import Client, secret_hash
from flowapp.accounts.models import LoginFailures
from flowapp.clock import from_now
from ir.errors import FlowError

MOST_FAILURES = 10
"""Of one person from one network, or in one browser that the person has signed in with."""
MOST_FAILURES_OF_A_NETWORK = 100
"""At persons who have never signed in from there."""
MOST_FAILURES_FROM_ELSEWHERE = 100
"""Of one person, from all networks that the person has never signed in from."""
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
    """Count a guess as a wrong one, until it is forgiven. Raises TooManyFailures, and counts nothing, at a limit."""
    with transaction.atomic():
        # In one order, as two who wait for each other would wait for ever.
        for key, most in sorted(_limits(client).items()):
            if not _count(key, most):
                raise TooManyFailures


def forgive_guess(client: Client) -> None:
    """The password was right: earlier slips of this person here are forgotten, and the others' counts are as before."""
    mine, *others = _limits(client)
    LoginFailures.objects.filter(key=mine).update(count=0)
    LoginFailures.objects.filter(key__in=others, count__gt=0).update(count=F("count") - 1)


def _count(key: str, most: int) -> bool:
    """Take one of the guesses that are left; False when there is none. Counting begins anew once a pause is over."""
    row = LoginFailures.objects.filter(key=key)
    fresh = {"count": 0, "until": from_now(PAUSE_SECONDS)}
    LoginFailures.objects.bulk_create([LoginFailures(key=key, **fresh)], ignore_conflicts=True)
    row.filter(until__lte=Now()).update(**fresh)
    return bool(row.filter(count__lt=most).update(count=F("count") + 1))


def _limits(client: Client) -> dict[str, int]:
    """Hashes of what is counted, with how many guesses each has; the person's own comes first."""
    if client.browser:
        return {secret_hash("browser", client.email, client.browser): MOST_FAILURES}
    mine = {secret_hash("person", client.email, client.network): MOST_FAILURES}
    if client.is_known_network:
        return mine
    return mine | {
        secret_hash("network", client.network): MOST_FAILURES_OF_A_NETWORK,
        secret_hash("elsewhere", client.email): MOST_FAILURES_FROM_ELSEWHERE,
    }
