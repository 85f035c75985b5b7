"""Django's name of this app, and what must be known before the OpenAPI document is made."""

from __future__ import annotations

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "flowapp.accounts"

    def ready(self) -> None:
        from flowapp.accounts import openapi  # noqa: F401  (its classes are found by having been defined)
