"""Connections to stores of files. Public fields are stored as settings, secrets encrypted."""

from __future__ import annotations

import json
from typing import Any

from django.views.decorators.debug import sensitive_variables

from executors.model import StoreConnection
from flowapp.connections.host_keys import shown_key
from flowapp.connections.models import Connection
from flowapp.connections.probes import Report
from flowapp.connections.secrets import decrypt, encrypt
from flowapp.connections.store_fields import StoreFields, require_store
from ir.errors import FlowError
from ir.manifests.stores import STORE_KINDS
from ir.manifests.stores.base import StoreField

_TAP_SECONDS = 30.0
"""How long a tap may take to list its streams in a test."""


@sensitive_variables("fields")
def fill_store(connection: Connection, fields: StoreFields) -> None:
    """Set the fields of an unsaved connection. Raises InvalidConnection."""
    settings, spec = require_store(fields), STORE_KINDS[fields.kind]
    connection.host, connection.port = spec.server_of(settings)
    connection.database, connection.user, connection.sslmode = spec.container_of(settings), spec.user_of(settings), ""
    connection.settings = {"fields": settings}
    connection.secret = encrypt(json.dumps({name: value for name, value in fields.secrets.items() if value}))


@sensitive_variables("secret", "known")
def replace_store_secret(connection: Connection, secret: str) -> None:
    """Replace the secret that `replaceable` names."""
    known = resolve_store(connection)
    changed = StoreFields(connection.kind, known.settings, {**known.secrets, replaceable(connection).name: secret})
    fill_store(connection, changed)


def replaceable(connection: Connection) -> StoreField:
    """Return the secret that is stored; if several are, or none is, the first one."""
    secrets = [field for field in STORE_KINDS[connection.kind].fields() if field.is_secret]
    stored = stored_secrets(connection)
    return next((field for field in secrets if field.name in stored), secrets[0])


def stored_secrets(connection: Connection) -> set[str]:
    """Return the names of the secrets that are stored."""
    return set(resolve_store(connection).secrets)


def resolve_store(connection: Connection) -> StoreConnection:
    """Return the connection in clear text. Keep it in memory only."""
    secrets: dict[str, str] = json.loads(decrypt(connection.secret, f"connection {connection.name!r}"))
    return StoreConnection(connection.name, connection.kind, connection.settings["fields"], secrets)


def probe(connection: Connection) -> Report:
    """Connect, and test what the key or the user may do. Problems are part of the report and are not raised."""
    title, part = STORE_KINDS[connection.kind].title, f" {connection.database}" if connection.database else ""
    tried = f"{title}{part} at {connection.host}:{connection.port}" if connection.port else f"{title} {connection.host}"
    tried += f", as {connection.user}" if connection.user else ""
    key: dict[str, Any] = {}
    try:
        resolved = resolve_store(connection)
        key = shown_key(resolved)
        facts, notes = _PROBES[STORE_KINDS[connection.kind].holds](resolved)
    except FlowError as error:
        return Report(tried, error.to_json(), key)
    return Report(tried, None, {**facts, **key}, notes)


def _probe_files(connection: StoreConnection) -> tuple[dict[str, Any], tuple[str, ...]]:
    from executors.api import probe_store  # It loads all kinds of runs, which most users of connections do not need.

    found = probe_store(connection)
    return {"canList": True, "canRead": found.can_read, "canMove": found.can_move}, found.notes


def _probe_rows(connection: StoreConnection) -> tuple[dict[str, Any], tuple[str, ...]]:
    from executors.api import probe_database

    found = probe_database(connection)
    return {"serverVersion": found.server_version, "encrypted": found.is_encrypted}, found.notes


def _probe_streams(connection: StoreConnection) -> tuple[dict[str, Any], tuple[str, ...]]:
    from executors.api import find_streams
    from flowapp.taps.folder import tap_folder

    found = find_streams(tap_folder(), str(connection.settings["tap"]), {}, connection, _TAP_SECONDS)
    return {"streams": ", ".join(stream.id for stream in found)}, ()


_PROBES = {"files": _probe_files, "rows": _probe_rows, "streams": _probe_streams}
