"""Test a connection: report the steps, the server that answered, and the rights of the role."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from executors.model import Connection, WebhookConnection
from flowapp.connections.control import refuse_control
from ir.errors import FlowError


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a test. `facts` come from the server; `notes` list rights that the role lacks or should not
    have."""

    tried: str
    error: dict[str, Any] | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "ok": self.error is None,
            "tried": self.tried,
            **self.facts,
            "notes": list(self.notes),
            "error": self.error,
        }


def probe_postgres(connection: Connection) -> Report:
    """Connect and query the server. Problems are part of the report and are not raised."""
    from executors.target_database import check_connection  # Most commands connect to no target.

    tried = (
        f"PostgreSQL at {connection.host}:{connection.port}, database {connection.database}, "
        f"as {connection.user}, sslmode {connection.sslmode}"
    )
    try:
        refuse_control(connection)
        found = check_connection(connection)
    except FlowError as error:
        return Report(tried, error.to_json())
    facts = {
        "serverVersion": found.facts.server_version,
        "encrypted": found.facts.is_encrypted,
        "canCreateSchema": found.facts.can_create_schema,
        "isSuperuser": found.facts.is_superuser,
        "serverRights": list(found.server_rights),
    }
    return Report(tried, None, facts, found.notes)


def probe_webhook(connection: WebhookConnection) -> Report:
    """Send a signed test request. Problems are part of the report and are not raised."""
    from executors.api import post_webhook  # It loads all kinds of runs, which most users of connections do not need.

    tried = f"a POST with the event `test` to connection {connection.name}"
    body = json.dumps({"event": "test", "connection": connection.name}).encode()
    try:
        status = post_webhook(connection, f"test.{uuid4()}", body)
    except FlowError as error:
        return Report(tried, error.to_json())
    return Report(tried, None, {"status": status})
