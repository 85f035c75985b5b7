"""Find the runs that need a connection."""

from __future__ import annotations

from collections.abc import Sequence

from flowapp.accounts.models import Workspace
from flowapp.connections.models import Connection
from flowapp.pipelines.connection_use import connections_in
from flowapp.runs.models import ACTIVE, Run
from ir.errors import FlowError

MOST_SHOWN = 3


def refuse_removal(connection: Connection) -> None:
    """Raise FlowError while a run needs the connection."""
    if runs := runs_needing(connection.workspace, connection.name):
        raise FlowError(
            "connection.busy",
            f"{connection.name} is in use by {_shown(runs)}. Without it, Flow cannot check what they have loaded.",
            hint="Wait until they finish, or cancel them.",
        )


def runs_needing(workspace: Workspace, name: str) -> list[Run]:
    """Return the unfinished runs whose version names the connection. Some can only be finalized through the
    connection."""
    active = Run.objects.filter(workspace=workspace, state__in=ACTIVE).select_related("pipeline", "version")
    return [run for run in active.order_by("queued_at", "number") if name in connections_in(run.document)]


def _shown(runs: Sequence[Run]) -> str:
    named = ", ".join(f"run {run.number} of {run.pipeline.slug} ({run.state})" for run in runs[:MOST_SHOWN])
    return named if len(runs) <= MOST_SHOWN else f"{named} and {len(runs) - MOST_SHOWN:,} more"
