"""Add, test, remove and resolve stored connections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from executors.errors import Failure
from executors.model import Connection as Resolved
from executors.model import StoreConnection, WebhookConnection
from flowapp.accounts.models import Workspace
from flowapp.connections.control import refuse_control, refuse_control_address
from flowapp.connections.fields import ConnectionFields, InvalidConnection, require_host
from flowapp.connections.models import Connection
from flowapp.connections.probes import Report, probe_postgres, probe_webhook
from flowapp.connections.secrets import decrypt, encrypt
from flowapp.connections.selectors import get_connection
from flowapp.connections.store_fields import StoreFields
from flowapp.connections.stores import fill_store, probe, replace_store_secret, resolve_store
from flowapp.connections.usage import before_removal
from flowapp.connections.webhook_fields import WEBHOOK, WebhookFields
from flowapp.connections.webhooks import fill_webhook, replace_signing_secret, resolve_webhook
from ir.connection_references import HOOK_KINDS, connection_references
from ir.connectors import loadable_kinds, source_kinds
from ir.kinds import KindTable
from ir.manifests.stores import STORE_KINDS
from ir.pipeline import Pipeline

AnyFields = ConnectionFields | WebhookFields | StoreFields

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
POSTGRES = "postgres"


@sensitive_variables("fields")
def add_connection(workspace: Workspace, name: str, fields: AnyFields) -> Connection:
    """Store a connection with its secrets encrypted. Raises InvalidConnection."""
    if not NAME.fullmatch(name):
        raise InvalidConnection(
            "connection.name_invalid",
            f"{name!r} is not a valid name for a connection.",
            hint="A name begins with a lower-case letter and has up to 63 lower-case letters, digits, - and _.",
        )
    connection = Connection(workspace=workspace, name=name)
    connection.kind = fields.kind
    KINDS[fields.kind].fill(connection, fields)
    try:
        with transaction.atomic():
            connection.save(force_insert=True)
    except IntegrityError:
        raise InvalidConnection(
            "connection.name_taken",
            f"There is already a connection {name!r}.",
            hint=f"Remove it first (`flow connection remove {name}`), or choose another name.",
        ) from None
    return connection


NOTHING_ALLOWED = {"allowedFunctions": [], "allowsServerRights": False}
"""What admins allow in queries over a new database connection."""


@sensitive_variables("fields")
def _fill_postgres(connection: Connection, fields: ConnectionFields) -> None:
    require_host(fields.host)
    refuse_control_address(fields.host, fields.port, fields.database, fields.user)
    connection.host, connection.port, connection.sslmode = fields.host, fields.port, fields.sslmode
    connection.database, connection.user = fields.database, fields.user
    connection.settings = dict(NOTHING_ALLOWED)
    _replace_password(connection, fields.password)


@sensitive_variables("password")
def _replace_password(connection: Connection, password: str) -> None:
    connection.secret = encrypt(password) if password else ""


@sensitive_variables("password")
def replace_password(workspace: Workspace, name: str, password: str) -> Connection:
    """Replace the password of a database, the signing secret of a webhook or the key of a store, and clear the last
    test. Raises UnknownConnection and InvalidConnection."""
    connection = get_connection(workspace, name)
    KINDS[connection.kind].replace_secret(connection, password)
    connection.last_test = None
    connection.save(update_fields=["secret", "settings", "last_test", "changed_at"])
    return connection


@sensitive_variables("fields")
def change_connection(workspace: Workspace, name: str, fields: AnyFields) -> Connection:
    """Replace all fields of a connection and clear the last test. What admins allow over a database stays if it is the
    same database. Raises UnknownConnection and InvalidConnection."""
    connection = get_connection(workspace, name)
    before, settings = _address(connection), connection.settings
    connection.kind = fields.kind
    KINDS[fields.kind].fill(connection, fields)
    if KINDS[fields.kind].runs_queries and _address(connection) == before:
        connection.settings = settings
    connection.last_test = None
    connection.save()
    return connection


def _address(connection: Connection) -> tuple[object, ...]:
    return connection.kind, connection.host, connection.port, connection.database, connection.user


def remove_connection(workspace: Workspace, name: str) -> None:
    """Delete a connection and its secret. Raises UnknownConnection, and FlowError while a run needs it."""
    connection = get_connection(workspace, name)
    before_removal(connection)
    connection.delete()


def probe_connection(workspace: Workspace, name: str) -> Connection:
    """Connect, check the role's rights, and store the result in `last_test`. Raises UnknownConnection."""
    connection = get_connection(workspace, name)
    report = KINDS[connection.kind].probe(connection)
    connection.last_test = {"at": timezone.now().isoformat(), **report.to_json()}
    connection.save(update_fields=["last_test"])
    return connection


def resolve_connections(workspace: Workspace, pipeline: Pipeline) -> Mapping[str, Resolved]:
    """Return all databases that a pipeline's nodes and quarantines name, with their passwords. Raises
    UnknownConnection, also for the stores that they name."""
    for name, kinds in _named(pipeline, of_stores=True):
        _get_of_kind(workspace, name, *kinds)
    return {name: resolve(_get_of_kind(workspace, name, *kinds)) for name, kinds in _named(pipeline, of_stores=False)}


def resolve_stores(workspace: Workspace, pipeline: Pipeline) -> Mapping[str, StoreConnection]:
    """Return all stores that a pipeline's sources and targets name, with their secrets. Raises UnknownConnection."""
    return {
        name: resolve_store(_get_of_kind(workspace, name, *kinds)) for name, kinds in _named(pipeline, of_stores=True)
    }


def _named(pipeline: Pipeline, *, of_stores: bool) -> list[tuple[str, tuple[str, ...]]]:
    """Return the databases or stores that a pipeline names, each with the kinds that it may have. A pipeline may name a
    connection several times and need different kinds."""
    named = {(name, kinds) for _, name, kinds in connection_references(pipeline.to_document()) if kinds != HOOK_KINDS}
    return sorted((name, kinds) for name, kinds in named if kinds and (kinds[0] in STORE_KINDS) == of_stores)


def refuse_control_databases(connections: Iterable[Resolved]) -> None:
    """Refuse pipelines that read or load the control database by any address. Raises InvalidConnection. The run itself
    reports a connection that does not respond."""
    for connection in connections:
        with suppress(Failure):
            refuse_control(connection)


def resolve_webhooks(workspace: Workspace, pipeline: Pipeline) -> Mapping[str, WebhookConnection]:
    """Return all connections that a pipeline's hooks name, with their secrets. Raises UnknownConnection."""
    names = {name for _, name, kinds in connection_references(pipeline.to_document()) if kinds == HOOK_KINDS}
    return {name: resolve_webhook(_get_of_kind(workspace, name, WEBHOOK)) for name in sorted(names)}


def _get_of_kind(workspace: Workspace, name: str, *kinds: str) -> Connection:
    connection = get_connection(workspace, name)
    _require_kind(connection, *kinds)
    return connection


def _require_kind(connection: Connection, *kinds: str) -> None:
    if connection.kind not in kinds:
        needed = " or ".join(kinds)
        raise InvalidConnection(
            "connection.wrong_kind",
            f"The connection {connection.name!r} is of kind {connection.kind}; this needs the kind {needed}.",
            hint=f"Choose or add a connection of kind {needed}.",
        )


def resolve(connection: Connection) -> Resolved:
    """Return the database with its password in clear text. Keep it in memory only. Raises InvalidConnection, also for a
    connection of another kind, whose secret must not be sent to a database."""
    _require_kind(connection, POSTGRES)
    refuse_control_address(connection.host, connection.port, connection.database, connection.user)
    owner = f"connection {connection.name!r}"
    return Resolved(
        name=connection.name,
        host=connection.host,
        port=connection.port,
        database=connection.database,
        user=connection.user,
        password=decrypt(connection.secret, owner) if connection.secret else "",
        sslmode=connection.sslmode,
        allowed_functions=tuple(connection.settings.get("allowedFunctions", ())),
        allows_server_rights=bool(connection.settings.get("allowsServerRights")),
    )


@dataclass(frozen=True, slots=True)
class ConnectionKind:
    """The differences between kinds of connection. `replace_secret` stores a new secret, which `secret_word` names;
    `used_in` names where users choose such a connection; `resolve` decrypts the secret for a run. `runs_queries` means
    that users send their own SQL over it, within what admins allow. `title` is displayed."""

    title: str
    secret_word: str
    used_in: str
    fill: Callable[[Connection, Any], None]
    replace_secret: Callable[[Connection, str], None]
    probe: Callable[[Connection], Report]
    resolve: Callable[[Connection], Any]
    runs_queries: bool = False


_POSTGRES = ConnectionKind(
    "PostgreSQL",
    "password",
    "a source, target or validate node",
    _fill_postgres,
    _replace_password,
    lambda c: probe_postgres(resolve(c)),
    resolve,
    runs_queries=True,
)
_WEBHOOK = ConnectionKind(
    "Webhook",
    "signing secret",
    "a webhook hook",
    fill_webhook,
    replace_signing_secret,
    lambda c: probe_webhook(resolve_webhook(c)),
    resolve_webhook,
)


def _used_in(kind: str) -> str:
    uses = {"source": source_kinds(), "target": loadable_kinds()}
    return f"a {' or '.join(use for use, kinds in uses.items() if kind in kinds)} node"


def _store_kind(kind: str) -> ConnectionKind:
    return ConnectionKind(
        STORE_KINDS[kind].title,
        "secret",
        _used_in(kind),
        fill_store,
        replace_store_secret,
        probe,
        resolve_store,
    )


KINDS: KindTable[ConnectionKind] = KindTable(
    "connection kind",
    ((POSTGRES, _POSTGRES), (WEBHOOK, _WEBHOOK), *((kind, _store_kind(kind)) for kind in STORE_KINDS)),
)
