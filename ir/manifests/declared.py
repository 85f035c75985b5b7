"""The base of connections in `flow.toml`. A secret is the name of an environment variable, never its value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ir.annotations import NoNewline
from ir.base import Spec
from ir.diagnostics import Diagnostic
from ir.manifests.diagnostics import fault
from ir.pointers import Pointer

_OWN_PREFIX, _ALLOWED_PREFIX = "FLOW_", "FLOW_CONNECTION_"


class EnvSecret(Spec):
    """A secret that is read from the environment of the command that applies the project."""

    env: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$"), NoNewline()] = Field(
        title="Variable", description="The name of the environment variable.", examples=["WAREHOUSE_PASSWORD"]
    )

    def check(self, at: Pointer) -> Iterator[Diagnostic]:
        if self.env.startswith(_OWN_PREFIX) and not self.env.startswith(_ALLOWED_PREFIX):
            message = f"{self.env} is a variable of Flow itself."
            yield fault("manifest.env_refused", at / "env", message)


class DeclaredConnection(Spec):
    """A connection of a project. `secret_fields` may only contain `{ env = "NAME" }`."""

    secret_fields: ClassVar[tuple[str, ...]] = ()
