"""The quarantine tables that store rejected rows, and the connections to them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Exists, F, OuterRef, Q, QuerySet

from executors.target_database import TableName
from flowapp.accounts.models import Workspace
from flowapp.cleanup.models import PendingCleanup
from flowapp.connections.models import Connection
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.models import Run


@dataclass(frozen=True, slots=True)
class RejectTable:
    """The entries of one pipeline in one quarantine table."""

    pipeline: str
    connection: str
    table: TableName

    @property
    def key(self) -> str:
        return f"{self.pipeline}|{self.connection}|{self.table}"


@dataclass(frozen=True, slots=True)
class SharedTable:
    """One quarantine table with the pipelines of a workspace that keep entries in it."""

    connection: str
    table: TableName
    pipelines: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.connection}|{self.table}"


def by_table(reject_tables: Iterable[RejectTable]) -> list[SharedTable]:
    """Return each table once, so that it is asked once, however many pipelines share it."""
    pipelines: dict[tuple[str, TableName], dict[str, None]] = {}
    for place in reject_tables:
        pipelines.setdefault((place.connection, place.table), {})[place.pipeline] = None
    return [SharedTable(*table, tuple(sorted(found))) for table, found in pipelines.items()]


def reject_tables_of(workspace: Workspace, pipeline: Pipeline | None, run: Run | None) -> list[RejectTable]:
    """Return all matching tables without repetition: those of the run's version; else those of every version that has
    run, because rejected rows stay in their table, and of the newest version.

    Tables behind removed connections are unreachable and left out.
    """
    if run is not None:
        return _reject_tables(PipelineVersion.objects.filter(runs=run))
    newest, ran = Q(number=F("pipeline__latest_number")), Exists(Run.objects.filter(version=OuterRef("pk")))
    versions = PipelineVersion.objects.filter(workspace=workspace, **({"pipeline": pipeline} if pipeline else {}))
    connections = set(Connection.objects.filter(workspace=workspace).values_list("name", flat=True))
    older = [
        reject_table
        for reject_table in _reject_tables(versions.filter(ran).exclude(newest))
        if reject_table.connection in connections
    ]
    return list(dict.fromkeys([*_reject_tables(versions.filter(newest)), *older]))


def orphaned_reject_tables(workspace: Workspace) -> list[RejectTable]:
    """Return reachable tables with rejected rows of deleted pipelines."""
    stored = Connection.objects.filter(workspace=workspace).values("name")
    return [
        RejectTable(pending.slug, pending.connection, TableName.parse(table))
        for pending in PendingCleanup.objects.filter(workspace=workspace, connection__in=stored).order_by("pk")
        for table in pending.quarantines
    ]


def _reject_tables(versions: QuerySet[PipelineVersion]) -> list[RejectTable]:
    with_quarantine = versions.exclude(quarantines=[]).order_by("pipeline__slug")
    return [
        RejectTable(slug, connection, TableName.parse(table))
        for slug, quarantines in with_quarantine.values_list("pipeline__slug", "quarantines").distinct()
        for connection, table in quarantines
    ]
