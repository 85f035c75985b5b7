"""Describe token authentication in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension

from flowapp.accounts.authentication import TokenAuthentication


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # of drf-spectacular
    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "header", "name": "Authorization", "description": "`Token <key>`"}
