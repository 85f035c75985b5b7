"""The fields of a connection to a store of files, and their validation. It imports no models: the command line uses it
before Django is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.views.decorators.debug import sensitive_variables
from pydantic import ValidationError

from flowapp.connections.fields import InvalidConnection
from ir.manifests.stores import STORE_KINDS
from ir.pointers import ROOT

_PLACEHOLDER = {"env": "FLOW_CONNECTION_PASSWORD"}
"""Stands for each secret while the public fields are validated; secrets have no rules but a length."""
LONGEST_SECRET = 20_000


@dataclass(frozen=True, slots=True)
class StoreFields:
    """The fields of a store as a user enters them, by their names in documents."""

    kind: str
    settings: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


@sensitive_variables()
def require_store(fields: StoreFields) -> dict[str, Any]:
    """Return the public fields with defaults. Raises InvalidConnection, which names the first wrong field."""
    spec = STORE_KINDS[fields.kind]
    secrets = {name: value for name, value in fields.secrets.items() if value}
    known = {field.name for field in spec.fields() if field.is_secret}
    if unknown := sorted(fields.secrets.keys() - known):
        raise _invalid(unknown[0], "is not a secret of this kind of connection")
    if missing := spec.missing_secret(tuple(secrets)):
        others = [name for name in spec.one_of if name != missing] if missing in spec.one_of else []
        raise _invalid(missing, " ".join(["is missing", *(f"(or {name})" for name in others)]))
    if surplus := spec.surplus_secret(tuple(secrets)):
        others = [name for name in spec.one_of or secrets if name != surplus]
        raise _invalid(surplus, f"cannot be combined with {' or '.join(others)}")
    if too_long := [name for name, value in secrets.items() if len(value) > LONGEST_SECRET or "\0" in value]:
        raise _invalid(too_long[0], f"is longer than {LONGEST_SECRET:,} characters, or contains a NUL character")
    for name, value in secrets.items():
        if why := spec.unusable_secret(name, value):
            raise _invalid(name, why)
    if secret := sorted(fields.settings.keys() & known):
        raise _invalid(secret[0], "is a secret, and must be given as one")
    try:
        read = spec.read({"kind": fields.kind, **fields.settings, **dict.fromkeys(secrets, _PLACEHOLDER)})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        at = str(first["loc"][0]) if first["loc"] else "kind"
        raise _invalid(at, _why(first)) from None
    if fault := next(read.check(ROOT), None):
        raise InvalidFields(str(fault.path[0] if fault.path else "kind"), fault.message)
    public = read.public()
    del public["kind"]
    return public


def _why(error: Mapping[str, Any]) -> str:
    if error["type"] == "missing":
        return "is missing"
    if error["type"] == "extra_forbidden":
        return "is not a field of this kind of connection"
    return "has a form that is not allowed"


def _invalid(name: str, why: str) -> InvalidConnection:
    return InvalidFields(name, f"The field {name} {why}.")


class InvalidFields(InvalidConnection):
    """A field of a store is invalid; `field` is its name in documents."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(
            "connection.field_invalid",
            message,
            hint="The reference of connections lists the fields of each kind and their forms.",
        )
        self.field = name
