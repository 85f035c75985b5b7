"""Connections to stores of files or tables. Public fields are stored as settings, secrets encrypted."""

from __future__ import annotations

import json
from typing import Any

from django.views.decorators.debug import sensitive_variables

from executors.model import StoreConnection
from flowapp.connections.host_keys import shown_key
from flowapp.connections.lake import folder_of, probe_folder
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
    secrets = {name: value for name, value in fields.secrets.items() if value}
    connection.secret = encrypt(json.dumps(secrets)) if secrets else ""


@sensitive_variables("secret", "known")
def replace_store_secret(connection: Connection, secret: str) -> None:
    """Replace the secret that `replaceable` names. Raises InvalidConnection."""
    settings, known, replaced = connection.settings["fields"], _secrets_of(connection), replaceable(connection)
    name = replaced.name if replaced is not None else "password"
    fill_store(connection, StoreFields(connection.kind, settings, {**known, name: secret}))


def replaceable(connection: Connection) -> StoreField | None:
    """Return the secret that is stored; if several are, or none is, the first one. Return None for a kind without
    secrets."""
    secrets = [field for field in STORE_KINDS[connection.kind].fields() if field.is_secret]
    stored = stored_secrets(connection)
    return next((field for field in secrets if field.name in stored), next(iter(secrets), None))


def stored_secrets(connection: Connection) -> set[str]:
    """Return the names of the secrets that are stored."""
    return set(_secrets_of(connection))


def resolve_store(connection: Connection) -> StoreConnection:
    """Return the connection in clear text. Keep it in memory only. The path of a folder for tables is absolute. Raises
    InvalidConnection if it leads out of the workspace's folder."""
    fields: dict[str, Any] = connection.settings["fields"]
    if STORE_KINDS[connection.kind].holds == "tables":
        fields = {**fields, "path": str(folder_of(connection))}
    return StoreConnection(connection.name, connection.kind, fields, _secrets_of(connection))


def _secrets_of(connection: Connection) -> dict[str, str]:
    if not connection.secret:
        return {}
    secrets: dict[str, str] = json.loads(decrypt(connection.secret, f"connection {connection.name!r}"))
    return secrets


def probe(connection: Connection) -> Report:
    """Connect, and test what the key or the user may do. Problems are part of the report and are not raised."""
    server = f"at {connection.host}:{connection.port}" if connection.port else connection.host
    tried = " ".join(filter(None, (STORE_KINDS[connection.kind].title, connection.database, server)))
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


_PROBES = {"files": _probe_files, "rows": _probe_rows, "streams": _probe_streams, "tables": probe_folder}
