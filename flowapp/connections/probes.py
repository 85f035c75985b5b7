"""Testing a connection: what was tried, who answered, and what the role may do there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from psycopg import sql

from executors.hooks.posting import Posting, require_accepted
from executors.hooks.webhook import headers_of
from executors.model import Connection, WebhookConnection
from executors.postgres.client import connect, translate
from executors.postgres.roles import RIGHTS, server_rights
from flowapp.connections.control import refuse_control
from ir.errors import FlowError


@dataclass(frozen=True, slots=True)
class Report:
    """`facts` are what the server told, `notes` what the role lacks or has too much of."""

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


FACTS = """
SELECT current_setting('server_version') AS "serverVersion",
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "encrypted",
       has_database_privilege(current_database(), 'CREATE') AS "canCreateSchema",
       (SELECT rolsuper FROM pg_roles WHERE rolname = session_user) AS "isSuperuser"
"""


def probe_postgres(connection: Connection) -> Report:
    """Connect and ask. Trouble is part of the report, not raised."""
    tried = (
        f"PostgreSQL at {connection.host}:{connection.port}, database {connection.database}, "
        f"as {connection.user}, sslmode {connection.sslmode}"
    )
    try:
        facts = _ask(connection)
    except FlowError as error:
        return Report(tried, error.to_json())
    return Report(tried, None, facts, tuple(_notes(connection, facts)))


def _ask(connection: Connection) -> dict[str, Any]:
    with connect(connection, autocommit=True) as reached, translate():
        refuse_control(reached)
        cursor = reached.execute(FACTS)
        facts = dict(zip((column.name for column in cursor.description), cursor.fetchone(), strict=True))
        return {**facts, "serverRights": server_rights(reached)}


def _notes(connection: Connection, facts: dict[str, Any]) -> list[str]:
    notes = []
    if not facts["canCreateSchema"]:
        grant = sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(
            sql.Identifier(connection.database), sql.Identifier(connection.user)
        )
        notes.append(
            "The role may not create schemas; Flow keeps staging and commit markers in schemas of its own. "
            f"Let the database's owner run: {grant.as_string()}"
        )
    notes.extend(_notes_of_rights(connection, facts["serverRights"]))
    return notes


def _notes_of_rights(connection: Connection, rights: list[str]) -> Iterator[str]:
    if not rights:
        return
    has = f"The role {' and '.join(RIGHTS[right] for right in rights)}."
    if connection.allows_server_rights:
        yield f"{has} An admin allows queries that editors write to run as it."
    else:
        yield (
            f"{has} Flow loads with it, but refuses queries that editors write and previews of tables. Connect as a "
            "role that owns only what it reads and loads, or let an admin allow it on the connection."
        )


def probe_webhook(connection: WebhookConnection) -> Report:
    """Send a signed request that says it is a test. Trouble is part of the report, not raised."""
    tried = f"a POST with the event `test` to connection {connection.name}"
    body = json.dumps({"event": "test", "connection": connection.name}).encode()
    headers = headers_of(connection, f"test.{uuid4()}", body, int(time.time()))
    try:
        status = Posting(connection.url, body, headers).send()
        require_accepted(status)
    except FlowError as error:
        return Report(tried, error.to_json())
    return Report(tried, None, {"status": status})
