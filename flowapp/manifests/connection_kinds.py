"""The kinds of connections that a project can declare: their public fields, their secrets, and their form in
flow.toml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.views.decorators.debug import sensitive_variables

from executors.model import Connection as Resolved
from executors.model import StoreConnection, WebhookConnection
from flowapp.connections.fields import ConnectionFields, require_host
from flowapp.connections.models import Connection
from flowapp.connections.services import POSTGRES, AnyFields, resolve
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.stores import resolve_store, stored_secrets
from flowapp.connections.webhook_fields import WEBHOOK, WebhookFields
from ir.kinds import KindTable
from ir.manifests.connections import DeclaredConnection, DeclaredPostgres, DeclaredWebhook
from ir.manifests.stores import STORE_KINDS
from ir.manifests.stores.base import DeclaredStore

Fields = dict[str, Any]
Secrets = Mapping[str, str]
"""The secrets of a connection by the path of their field; "" for one that the environment lacks."""
_POSTGRES_FIELDS = ("kind", "host", "port", "database", "user", "sslmode")


@dataclass(frozen=True, slots=True)
class DeclaredKind:
    """The differences between kinds. `declared` and `stored` return the public fields of a declaration and of a stored
    connection in the same form.

    `enter` adds the secrets to a declaration; it may use those of the stored connection. `has_other_secret` compares
    the result with the stored secrets. `export` returns a stored connection as in flow.toml, with variables that begin
    with a prefix. A stored secret is sent only while all fields of `address` are unchanged; without such fields, the
    address itself is secret. `require_usable` raises FlowError for fields that cannot be stored."""

    spec: type[DeclaredConnection]
    declared: Callable[[Any], Fields]
    stored: Callable[[Connection], Fields]
    enter: Callable[[Any, Secrets, Connection | None], AnyFields]
    has_other_secret: Callable[[Any, Any], bool]
    export: Callable[[Connection, str], Fields]
    address: tuple[str, ...] = ()
    require_usable: Callable[[Any], object] = lambda spec: None


def _stored_postgres(connection: Connection) -> Fields:
    return {name: getattr(connection, name) for name in _POSTGRES_FIELDS}


def _declared_postgres(spec: DeclaredPostgres) -> Fields:
    return spec.model_dump(exclude={"password"})


@sensitive_variables()
def _enter_postgres(spec: DeclaredPostgres, secrets: Secrets, stored: Connection | None) -> ConnectionFields:
    password = secrets.get("/password", "")
    if not password and stored is not None and stored.kind == POSTGRES:
        password = resolve(stored).password
    return ConnectionFields(**_declared_postgres(spec), password=password)


def _has_other_password(entered: ConnectionFields, known: Resolved) -> bool:
    return bool(entered.password and entered.password != known.password)


def _export_postgres(stored: Connection, prefix: str) -> Fields:
    password = {"password": {"env": f"{prefix}_PASSWORD"}} if stored.secret else {}
    return {**_stored_postgres(stored), **password}


def _stored_webhook(connection: Connection) -> Fields:
    settings = connection.settings
    return {"kind": WEBHOOK, "headers": settings.get("headers", []), "signed": settings.get("signed", False)}


def _declared_webhook(spec: DeclaredWebhook) -> Fields:
    return {"kind": WEBHOOK, "headers": sorted(spec.headers), "signed": spec.secret is not None}


@sensitive_variables()
def _enter_webhook(spec: DeclaredWebhook, secrets: Secrets, stored: Connection | None) -> WebhookFields:
    headers = {at.removeprefix("/headers/"): value for at, value in secrets.items() if at.startswith("/headers/")}
    return WebhookFields(secrets.get("/url", ""), headers, secrets.get("/secret", ""))


def _has_other_values(entered: WebhookFields, known: WebhookConnection) -> bool:
    return (entered.url, dict(entered.headers), entered.secret) != (known.url, dict(known.headers), known.secret)


def _export_webhook(stored: Connection, prefix: str) -> Fields:
    fields = _stored_webhook(stored)
    headers = {name: {"env": f"{prefix}_HEADER_{i}"} for i, name in enumerate(fields["headers"], 1)}
    secret = {"secret": {"env": f"{prefix}_SECRET"}} if fields["signed"] else {}
    more = {"headers": headers} if headers else {}
    return {"kind": WEBHOOK, "url": {"env": f"{prefix}_URL"}, **more, **secret}


def _stored_store(connection: Connection) -> Fields:
    return {"kind": connection.kind, **connection.settings["fields"]}


def _declared_store(spec: DeclaredStore) -> Fields:
    return spec.public()


@sensitive_variables()
def _enter_store(spec: DeclaredStore, secrets: Secrets, stored: Connection | None) -> StoreFields:
    given = {at.removeprefix("/"): value for at, value in secrets.items()}
    if stored is not None and stored.kind == spec.name():
        known = resolve_store(stored).secrets
        given = {name: value or known.get(name, "") for name, value in given.items()}
    public = spec.public()
    del public["kind"]
    return StoreFields(spec.name(), public, given)


def _has_other_secrets(entered: StoreFields, known: StoreConnection) -> bool:
    return {name: value for name, value in entered.secrets.items() if value} != dict(known.secrets)


def _export_store(stored: Connection, prefix: str) -> Fields:
    fields = _stored_store(stored)
    names = sorted(stored_secrets(stored))
    secrets = {name: {"env": f"{prefix}_{_SNAKE.sub('_', name).upper()}"} for name in names}
    defaults = {field.name: field.default for field in STORE_KINDS[stored.kind].fields()}
    public = {name: value for name, value in fields.items() if name == "kind" or value != defaults.get(name)}
    return {**public, **secrets}


_SNAKE = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _store_kind(spec: type[DeclaredStore]) -> DeclaredKind:
    return DeclaredKind(
        spec,
        _declared_store,
        _stored_store,
        _enter_store,
        _has_other_secrets,
        _export_store,
        address=spec.address,
    )


DECLARED_KINDS: KindTable[DeclaredKind] = KindTable(
    "declared connection kind",
    (
        *((name, _store_kind(spec)) for name, spec in STORE_KINDS.items()),
        (
            POSTGRES,
            DeclaredKind(
                DeclaredPostgres,
                _declared_postgres,
                _stored_postgres,
                _enter_postgres,
                _has_other_password,
                _export_postgres,
                address=("kind", "host", "port", "database", "user"),
                require_usable=lambda spec: require_host(spec.host),
            ),
        ),
        (
            WEBHOOK,
            DeclaredKind(
                DeclaredWebhook,
                _declared_webhook,
                _stored_webhook,
                _enter_webhook,
                _has_other_values,
                _export_webhook,
            ),
        ),
    ),
)


def kind_of(spec: DeclaredConnection) -> DeclaredKind:
    """Return the kind of a declaration. Raises StopIteration for an unregistered one."""
    return next(kind for kind in DECLARED_KINDS.values() if isinstance(spec, kind.spec))


def declared_fields(spec: DeclaredConnection) -> Fields:
    """Return the public fields of a declaration, in the form of `stored_fields`."""
    return kind_of(spec).declared(spec)


def stored_fields(connection: Connection) -> Fields:
    """Return the public fields of a stored connection."""
    return DECLARED_KINDS[connection.kind].stored(connection)
