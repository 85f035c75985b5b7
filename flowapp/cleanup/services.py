"""Delete the data of a deleted pipeline in its targets' databases: recorded in advance, deleted when a database
responds."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from executors.model import BackupRef
from executors.model import Connection as Resolved
from executors.target_database import Owner, clear_pipeline, delete_watermarks
from flowapp.alerts.services import raise_alert
from flowapp.backups.models import Backup
from flowapp.backups.selectors import list_unexpired
from flowapp.cleanup.models import PendingCleanup
from flowapp.clock import from_now
from flowapp.connections.models import Connection
from flowapp.connections.selectors import UnknownConnection, get_connection
from flowapp.connections.services import resolve
from flowapp.connections.target_databases import is_in_database
from flowapp.pipelines.documents import read_document
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.summaries import find_quarantines
from flowapp.runs.models import Run
from ir.errors import FlowError
from ir.pipeline import Pipeline as Document

logger = logging.getLogger(__name__)
MOST_RUNS = 1000
"""The number of runs, newest first, whose staging tables are recorded. Staging tables of others are swept every hour.
"""

REMOVED_DAYS = 30
"""The number of days for which cleanup waits for a removed connection to be added again."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion deletes, what it does not delete, and the number of runs that prevent it. Computed without
    queries to target databases."""

    versions: int
    runs: int
    under_way: int
    watermarks: int
    backups: list[Backup]
    tables: list[str]
    quarantines: list[str]


@dataclass(slots=True)
class _LoadedTables:
    """The loaded tables and the quarantine tables behind one connection, and whether it leads to a database, where Flow
    has other data too."""

    tables: dict[str, None] = field(default_factory=dict)
    quarantines: dict[str, None] = field(default_factory=dict)
    is_database: bool = False


def describe_deletion(pipeline: Pipeline) -> Deletion:
    tables = _tables_by_connection(pipeline)
    return Deletion(
        versions=pipeline.versions.count(),
        runs=pipeline.runs.count(),
        under_way=pipeline.runs.filter(ended_at=None).count(),
        watermarks=pipeline.watermarks.exclude(value="").count(),
        backups=list(list_unexpired().filter(pipeline=pipeline).order_by("-taken_at", "id")),
        tables=sorted({table for location in tables.values() for table in location.tables}),
        quarantines=sorted({table for location in tables.values() for table in location.quarantines}),
    )


def before_deletion(pipeline: Pipeline) -> None:
    """Hook before the deletion of a pipeline: schedule the cleanup of its data."""
    left = note_pending(pipeline)
    transaction.on_commit(lambda: clean_up(left))


def note_pending(pipeline: Pipeline) -> list[PendingCleanup]:
    """Record the data to delete. Runs in the transaction that deletes the pipeline, before the deletion."""
    tables = _tables_by_connection(pipeline)
    backups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for backup in list_unexpired().filter(pipeline=pipeline):
        backups[backup.connection].append((str(backup.run_id), backup.node))
    runs = [str(key) for key in pipeline.runs.order_by("-queued_at").values_list("pk", flat=True)[:MOST_RUNS]]
    return PendingCleanup.objects.bulk_create(
        PendingCleanup(
            workspace=pipeline.workspace,
            slug=pipeline.slug,
            connection=name,
            backups=backups[name],
            runs=runs,
            quarantines=list(tables[name].quarantines) if name in tables else [],
        )
        for name in sorted({*(name for name, here in tables.items() if here.is_database), *backups})
    )


def clean_up_pending() -> int:
    """Clean up what was unreachable at deletion; return the number of connections with no data left. Records of
    rejected rows that can no longer be reached are deleted too."""
    left = PendingCleanup.objects.select_related("workspace").order_by("pk")
    stored = Connection.objects.filter(workspace=OuterRef("workspace"), name=OuterRef("connection"))
    return clean_up(left.filter(Q(is_due=True) | ~Exists(stored)))


def clean_up(left: Iterable[PendingCleanup]) -> int:
    """Clean up behind each connection that responds. The scheduler retries the others."""
    return sum(map(_clear_up, left))


def _clear_up(pending: PendingCleanup) -> bool:
    try:
        stored = get_connection(pending.workspace, pending.connection)
    except UnknownConnection:
        return _give_up(pending)
    try:
        _forget(resolve(stored), pending)
    except FlowError as error:
        logger.info("Data of %s at connection %s is not removed yet: %s", pending.slug, pending.connection, error.code)
        return False
    if pending.quarantines:  # Rejected rows stay until their retention ends.
        PendingCleanup.objects.filter(pk=pending.pk).update(is_due=False, backups=[], runs=[])
    else:
        pending.delete()
    return True


def _give_up(pending: PendingCleanup) -> bool:
    """Give up on a connection that was removed and has not been added again within REMOVED_DAYS. One alert lists the
    data that is not deleted."""
    is_over = PendingCleanup.objects.filter(pk=pending.pk, left_at__lt=from_now(-REMOVED_DAYS * 24 * 3600.0)).exists()
    if is_over:
        tables = f", and rejected rows in {', '.join(pending.quarantines)}" if pending.quarantines else ""
        with transaction.atomic():
            raise_alert(
                "cleanup.failed",
                "warning",
                f"Pipeline {pending.slug!r} was deleted more than {REMOVED_DAYS} days ago, and connection "
                f"{pending.connection!r} is removed. Its samples, watermarks and backups, if any, remain in that "
                f"database{tables}.",
                "If that database is still in use, have its owner delete them: all but the rejected rows is in schema "
                "flow_meta.",
                workspace=pending.workspace,
                node=pending.slug,
            )
            pending.delete()
    return is_over


def _forget(connection: Resolved, pending: PendingCleanup) -> None:
    """Delete samples and the watermark of the deleted pipeline, but not those of a new pipeline with the same id."""
    owner = Owner(str(pending.workspace_id), pending.slug)
    backups = [BackupRef(run, node) for run, node in pending.backups]
    clear_pipeline(connection, owner, backups_taken=backups, runs=set(pending.runs), list_known=_known)
    if not Pipeline.objects.filter(workspace=pending.workspace_id, slug=pending.slug).exists():
        delete_watermarks(connection, owner)


def _known(runs: Iterable[str]) -> set[str]:
    return {str(key) for key in Run.objects.filter(pk__in=[UUID(run) for run in runs]).values_list("pk", flat=True)}


def _tables_by_connection(pipeline: Pipeline) -> dict[str, _LoadedTables]:
    """Return the tables of the newest version and of all versions that have run, by connection."""
    tables: dict[str, _LoadedTables] = defaultdict(_LoadedTables)
    for document in _documents(pipeline):
        for target in document.targets():
            here = tables[target.connection]
            here.is_database |= is_in_database(target)
            here.tables[f"{target.schema_}.{target.table}"] = None
        for quarantine in find_quarantines(document):
            there = tables[quarantine.connection]
            there.is_database = True
            there.quarantines[quarantine.table] = None
    return dict(tables)


def _documents(pipeline: Pipeline) -> Iterator[Document]:
    """Yield the readable documents. This release has not run a version that it cannot read."""
    ran = Q(pk__in=pipeline.runs.values("version")) | Q(number=pipeline.latest_number)
    for version in pipeline.versions.filter(ran).order_by("-number"):
        try:
            yield read_document(version.document)
        except FlowError:
            continue
