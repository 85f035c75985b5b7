"""Django's name of this app, and what it registers with those below it."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "flowapp.accounts"

    def ready(self) -> None:
        from django.contrib.sessions.models import Session

        from flowapp.accounts import openapi  # noqa: F401  (its classes are found by having been defined)
        from flowapp.accounts.clients import KNOWN_DAYS
        from flowapp.accounts.models import EndedCredentials, KnownNetwork, LoginFailures, LoginLink, Token
        from flowapp.processes import retention
        from flowapp.processes.retention import Retention

        retention.register(
            Retention("Wrong passwords, as counted", LoginFailures, "until", 1),
            Retention("Networks that people sign in from, as hashes", KnownNetwork, "seen_at", KNOWN_DAYS),
            Retention("How many credentials of a person were ended", EndedCredentials, "at", 365),
            Retention("Sign-ins, after their end", Session, "expire_date", 1),
            Retention("Links to sign in once, after their end", LoginLink, "expires_at", 7),
            Retention("Keys to the API, after their end", Token, "expires_at", 90),
        )
