"""Resolved connections. Their `repr` shows no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ir.allowances import Allowance
from ir.names import parse_table_name


@dataclass(frozen=True, slots=True)
class Connection:
    """A resolved PostgreSQL connection. `repr` omits the password.

    `allowed_functions` (schema.name) are the functions that an admin allows in user-written queries. With
    `allows_server_rights`, these queries may run as a superuser or a role with similar rights.
    """

    name: str
    host: str
    port: int
    database: str
    user: str
    password: str = field(default="", repr=False)
    sslmode: str = "prefer"
    allowed_functions: tuple[str, ...] = ()
    allows_server_rights: bool = False

    @property
    def allowance(self) -> Allowance:
        return Allowance(frozenset(map(parse_table_name, self.allowed_functions)))


@dataclass(frozen=True, slots=True)
class WebhookConnection:
    """A resolved webhook connection. `repr` omits the headers, the signing secret and the URL, whose path may be
    secret.
    """

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secret: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class StoreConnection:
    """A resolved connection to a store of files, such as a bucket. `settings` are its public fields by their names in
    documents; `repr` omits the secrets."""

    name: str
    kind: str
    settings: Mapping[str, Any]
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
