"""A connection to a web server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore

BaseUrl = Annotated[
    str,
    StringConstraints(
        pattern=r"^https?://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%!$&'()*+,;=:/-]*)?$",
        max_length=500,
    ),
    NoNewline(),
]
"""An address without user, query and fragment."""


class DeclaredHttp(DeclaredStore):
    """A web server or a web service (REST API), and how to sign in to it."""

    title = "Web server"
    secret_fields = ("password", "token", "headers", "parameters")
    address = ("kind", "url", "user")

    kind: Literal["http"]
    url: BaseUrl = Field(
        title="URL",
        description="The address of a folder of the server. Secrets are sent only to it and to addresses below it.",
        examples=["https://data.example.com/exports/"],
    )
    user: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f:]{0,63}$"), NoNewline()] = Field(
        "", title="User", description="The user of HTTP basic authentication, with the password."
    )
    password: EnvSecret | None = Field(None, title="Password", description="The password of the user.")
    token: EnvSecret | None = Field(
        None, title="Token", description="A bearer token, instead of a user and a password."
    )
    headers: EnvSecret | None = Field(
        None,
        title="Headers",
        description="Further headers, one per line, such as X-Api-Key: …",
        json_schema_extra={"multiline": True},
    )

    parameters: EnvSecret | None = Field(
        None,
        title="Parameters",
        description="Secret query parameters, one per line, such as api_key=…",
        json_schema_extra={"multiline": True},
    )

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        parts = urlsplit(settings["url"])
        return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)

    @classmethod
    def user_of(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["user"])

    @classmethod
    def surplus_secret(cls, given: Sequence[str]) -> str:
        return "password" if {"password", "token"} <= set(given) else ""

    @classmethod
    def missing_secret(cls, given: Sequence[str]) -> str:
        return ""
