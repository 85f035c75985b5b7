"""Reading stored connections. Nothing here opens a secret."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from flowapp.pipelines.documents import syntax_of
from flowapp.pipelines.models import PipelineVersion
from flowapp.runs.models import ACTIVE, Run
from ir.documents import read_document
from ir.errors import FlowError

NOTHING_ALLOWED = {"allowedFunctions": [], "allowsServerRights": False}
"""What queries over a new connection may use beyond the ordinary."""


class UnknownConnection(FlowError):
    """There is no connection of that name here."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        known = ", ".join(c.name for c in list_connections(workspace)) or "none yet"
        super().__init__(
            "connection.unknown",
            f"There is no connection {name!r} in workspace {workspace.slug!r}.",
            hint=f"Connections: {known}. Add one with `flow connection add {name} --url URL --password-stdin`.",
        )


def list_connections(workspace: Workspace) -> list[Connection]:
    return list(Connection.objects.filter(workspace=workspace).order_by("name"))


def get_connection(workspace: Workspace, name: str) -> Connection:
    """The connection of that name; raises UnknownConnection."""
    try:
        return Connection.objects.get(workspace=workspace, name=name)
    except Connection.DoesNotExist:
        raise UnknownConnection(workspace, name) from None


def pipelines_using(workspace: Workspace, name: str) -> list[str]:
    """The ids of pipelines whose newest version names the connection."""
    newest = PipelineVersion.objects.filter(pipeline__workspace=workspace, number=F("pipeline__latest_number"))
    found = newest.order_by("pipeline__ident").values_list("pipeline__ident", "document")
    return [ident for ident, text in found.iterator() if name in _names_in(text)]


def runs_needing(workspace: Workspace, name: str) -> list[Run]:
    """The runs that have not ended and whose version names the connection. Some may be settled with its help alone."""
    active = Run.objects.filter(workspace=workspace, state__in=ACTIVE).select_related("pipeline", "version")
    return [run for run in active.order_by("queued_at", "number") if name in _names_in(run.document)]


def _names_in(text: str) -> set[str]:
    """The connections that a document names; also one that this release cannot read as a pipeline."""
    value = read_document(text, syntax_of(text)).value
    nodes = _dicts(value.get("nodes")) if isinstance(value, dict) else []
    holders = [*nodes, *(hook for node in nodes for name in ("preHook", "postHook") for hook in _dicts(node.get(name)))]
    return {holder["connection"] for holder in holders if isinstance(holder.get("connection"), str)}


def _dicts(value: Any) -> list[dict[str, Any]]:
    """The objects of a list, or the one that stands in its place."""
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


def connection_document(connection: Connection) -> dict[str, Any]:
    """What may be shown of a connection: all but its secret."""
    return {
        "name": connection.name,
        "kind": connection.kind,
        "host": connection.host,
        "port": connection.port,
        "database": connection.database,
        "user": connection.user,
        "sslmode": connection.sslmode,
        "hasPassword": bool(connection.secret),
        **(NOTHING_ALLOWED if connection.kind == "postgres" else {}),
        **connection.settings,
        "lastTest": connection.last_test,
    }
