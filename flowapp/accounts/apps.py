"""Django configuration of this app; registers its hooks with lower layers."""

from __future__ import annotations

from django.apps import AppConfig

from flowapp.registrations import Registers


class AccountsConfig(Registers, AppConfig):
    name = "flowapp.accounts"

    def register(self) -> None:
        from django.contrib.sessions.models import Session

        from flowapp.accounts.clients import KNOWN_DAYS
        from flowapp.accounts.models import EndedCredentials, FailedAttempts, KnownNetwork, LoginLink, Token
        from flowapp.processes import retention
        from flowapp.processes.retention import Retention

        retention.register(
            Retention("Counts of wrong passwords and signatures", FailedAttempts, "until", 1),
            Retention("Hashes of the networks that people sign in from", KnownNetwork, "seen_at", KNOWN_DAYS),
            Retention("Counts of revoked credentials", EndedCredentials, "at", 365),
            Retention("Expired sessions", Session, "expire_date", 1),
            Retention("Expired login links", LoginLink, "expires_at", 7),
            Retention("Expired API tokens", Token, "expires_at", 90),
        )
