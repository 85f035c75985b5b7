"""The settings of a Singer tap, all of which may be secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ir.base import Id
from ir.manifests.declared import EnvSecret
from ir.manifests.stores.base import DeclaredStore


class DeclaredSinger(DeclaredStore):
    """The settings of a Singer tap, which sources read streams from."""

    title = "Singer tap"
    holds = "streams"
    secret_fields = ("settings",)
    address = ("kind", "tap")

    kind: Literal["singer"]
    tap: Id = Field(
        title="Tap", description="The name of an installed tap. Only it gets the settings.", examples=["shop"]
    )
    settings: EnvSecret = Field(
        title="Settings",
        description="A JSON object with the settings of the tap, such as a token. They are added to those of sources.",
        json_schema_extra={"multiline": True},
    )

    @classmethod
    def server_of(cls, settings: Mapping[str, Any]) -> tuple[str, int]:
        """Return the tap: only it knows the servers that it connects to."""
        return str(settings["tap"]), 0

    @classmethod
    def described(cls, settings: Mapping[str, Any]) -> str:
        return str(settings["tap"])

    @classmethod
    def unusable_secret(cls, name: str, value: str) -> str:
        try:
            found = json.loads(value)
        except ValueError:
            return "is not valid JSON"
        return "" if isinstance(found, dict) else "is not a JSON object"
