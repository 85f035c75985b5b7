"""The host keys of SFTP servers. A person confirms the key that a test has shown; no key is trusted without that."""

from __future__ import annotations

from typing import Any

from executors.model import StoreConnection
from flowapp.accounts.models import Workspace
from flowapp.connections.fields import InvalidConnection
from flowapp.connections.models import Connection
from flowapp.connections.selectors import get_connection
from ir.errors import FlowError
from ir.manifests.stores import STORE_KINDS

FIELD = "hostKey"


def has_host_key(kind: str) -> bool:
    """Return whether connections of this kind lead to a server with a host key."""
    return kind in STORE_KINDS and any(field.name == FIELD for field in STORE_KINDS[kind].fields())


def shown_key(connection: StoreConnection) -> dict[str, Any]:
    """Return the key that the server of a connection shows, for the report of a test. It is empty for other kinds, and
    if the server does not respond, which the test reports."""
    if not has_host_key(connection.kind):
        return {}
    from executors.api import read_host_key  # It loads all kinds of runs, which most users do not need.

    try:
        found = read_host_key(connection)
    except FlowError:
        return {}
    if found is None:
        return {}
    is_confirmed = found.key == connection.settings[FIELD]
    return {"hostKey": found.key, "hostKeyFingerprint": found.fingerprint, "hostKeyConfirmed": is_confirmed}


def confirm_host_key(workspace: Workspace, name: str, fingerprint: str) -> Connection:
    """Trust the key that the last test has shown, and clear that test. Raises UnknownConnection, and InvalidConnection
    if the test has shown another key than that of the fingerprint."""
    connection = get_connection(workspace, name)
    if not has_host_key(connection.kind):
        raise InvalidConnection(
            "connection.wrong_kind",
            f"The connection {name!r} has no host key: it is of kind {connection.kind}.",
            hint="Only SFTP servers have one.",
        )
    last = connection.last_test or {}
    if not fingerprint or last.get("hostKeyFingerprint") != fingerprint:
        raise InvalidConnection(
            "connection.host_key_differs",
            "The last test of the connection has not shown a host key with this fingerprint.",
            hint="Test the connection, compare the fingerprint with that of the server, and confirm it.",
        )
    fields = {**connection.settings["fields"], FIELD: last["hostKey"]}
    connection.settings = {**connection.settings, "fields": fields}
    connection.last_test = None
    connection.save(update_fields=["settings", "last_test", "changed_at"])
    return connection
