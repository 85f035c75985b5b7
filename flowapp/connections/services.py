"""Adding, testing, removing and resolving stored connections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from executors.model import Connection as Resolved
from flowapp.accounts.models import Workspace
from flowapp.connections.control import refuse_control_address
from flowapp.connections.fields import ConnectionFields, InvalidConnection, require_host
from flowapp.connections.models import Connection
from flowapp.connections.probes import PROBES
from flowapp.connections.secrets import decrypt, encrypt, rotate
from flowapp.connections.selectors import get_connection, runs_needing
from flowapp.runs.models import Run
from ir.errors import FlowError
from ir.pipeline import Pipeline

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
MOST_SHOWN = 3


@sensitive_variables("fields")
def add_connection(workspace: Workspace, name: str, fields: ConnectionFields) -> Connection:
    """Store a connection; raises InvalidConnection. The password is encrypted before it reaches the database."""
    if not NAME.fullmatch(name):
        raise InvalidConnection(
            "connection.name_invalid", f"{name!r} cannot name a connection.",
            hint="A name begins with a small letter and holds up to 63 small letters, digits, - and _.",
        )  # fmt: skip
    require_host(fields.host)
    refuse_control_address(fields.host, fields.port, fields.database, fields.user)
    connection = Connection(
        workspace=workspace, name=name, kind=fields.kind, host=fields.host, port=fields.port,
        database=fields.database, user=fields.user, sslmode=fields.sslmode,
        secret=encrypt(fields.password) if fields.password else "",
    )  # fmt: skip
    try:
        with transaction.atomic():
            connection.save(force_insert=True)
    except IntegrityError:
        raise InvalidConnection(
            "connection.name_taken", f"There is a connection {name!r} already.",
            hint=f"Remove it first (`flow connection remove {name}`), or choose another name.",
        ) from None  # fmt: skip
    return connection


@sensitive_variables("password")
def replace_password(workspace: Workspace, name: str, password: str) -> Connection:
    """Store another password for a connection; raises UnknownConnection. What was tested before says nothing now."""
    connection = get_connection(workspace, name)
    connection.secret = encrypt(password) if password else ""
    connection.last_test = None
    connection.save(update_fields=["secret", "last_test", "changed_at"])
    return connection


def remove_connection(workspace: Workspace, name: str) -> None:
    """Forget a connection and its secret; raises UnknownConnection, and FlowError while a run needs it."""
    connection = get_connection(workspace, name)
    if runs := runs_needing(workspace, name):
        raise FlowError(
            "connection.busy",
            f"{name} is needed by {_shown(runs)}. Without it nobody can find out what they have loaded.",
            hint="Wait until they have ended, or cancel them.",
        )
    connection.delete()


def _shown(runs: Sequence[Run]) -> str:
    named = ", ".join(f"run {run.number} of {run.pipeline.ident} ({run.state})" for run in runs[:MOST_SHOWN])
    return named if len(runs) <= MOST_SHOWN else f"{named} and {len(runs) - MOST_SHOWN:,} more"


def probe_connection(workspace: Workspace, name: str) -> Connection:
    """Connect, look at what the role may do, and keep the result in `last_test`; raises UnknownConnection."""
    connection = get_connection(workspace, name)
    report = PROBES[connection.kind](resolve(connection))
    connection.last_test = {"at": timezone.now().isoformat(), **report.to_json()}
    connection.save(update_fields=["last_test"])
    return connection


def resolve_connections(workspace: Workspace, pipeline: Pipeline) -> Mapping[str, Resolved]:
    """All connections that the nodes of a pipeline name, with their passwords; raises UnknownConnection."""
    names = {name for node in pipeline.nodes if (name := getattr(node, "connection", None))}
    return {name: resolve(get_connection(workspace, name)) for name in sorted(names)}


def resolve(connection: Connection) -> Resolved:
    """The connection with its password in the clear. It lives in memory only."""
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
    )


def rotate_secrets() -> int:
    """Encrypt every stored secret under the first key, so that older keys can go; returns how many there are."""
    connections = Connection.objects.exclude(secret="")
    for connection in connections:
        Connection.objects.filter(pk=connection.pk, secret=connection.secret).update(secret=rotate(connection.secret))
    return len(connections)


def follow_embedded_warehouse(warehouse: Mapping[str, str | int]) -> None:
    """The embedded server may have another port than last time, when that was taken: connections to it follow."""
    same = Connection.objects.filter(
        kind="postgres", host=warehouse["host"], database=warehouse["database"], user=warehouse["user"]
    )
    same.exclude(port=warehouse["port"]).update(port=warehouse["port"], last_test=None)
