"""Reading marks: where they stand, with their history, or else the copy of what was last seen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from executors.errors import Failure
from executors.postgres import watermarks
from executors.postgres.client import connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.inspect import inspect_target
from executors.postgres.mark_doubts import MarkDoubt, list_doubts
from executors.postgres.names import TableName
from executors.postgres.watermarks import MarkChange
from flowapp.connections.selectors import get_connection
from flowapp.connections.services import resolve
from flowapp.pipelines.models import Pipeline
from flowapp.watermarks.models import MarkCopy
from flowapp.watermarks.places import Place, places_of

TIMEOUT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark as people see it. `value` is None before the first load and after a reset; `trouble` says why this is only
    the copy of `seen_at`. `warnings` are to be known before it is set or reset."""

    place: Place
    column: str
    type: str
    value: str | None
    seen_at: datetime | None
    ties: int = 0
    changes: list[MarkChange] = field(default_factory=list)
    trouble: str = ""
    warnings: list[MarkDoubt] = field(default_factory=list)


@contextmanager
def reached(place: Place) -> Iterator[Conn]:
    """A session on the target's database; raises Failure."""
    stored = get_connection(place.pipeline.workspace, place.target.connection)
    with connect(resolve(stored), autocommit=True, timeout=TIMEOUT_SECONDS) as conn, translate(place.target.id):
        yield conn


def get_mark(place: Place) -> Mark:
    """The mark as it stands, which is copied; while its database does not answer, the copy."""
    try:
        with reached(place) as conn:
            return _read(conn, place)
    except Failure as failure:
        return _copy(place, failure.message)


def _read(conn: Conn, place: Place) -> Mark:
    known = watermarks.has_marks(conn)
    stored = watermarks.find_mark(conn, place.key) if known else None
    changes = watermarks.list_changes(conn, place.key) if known else []
    table = place.key.table
    doubts = list_doubts(conn, inspect_target(conn, table.schema, table.table))
    if stored is None:
        mark = Mark(place, place.column, "", None, timezone.now(), changes=changes, warnings=doubts)
    else:
        ties = watermarks.count_ties(conn, stored)
        seen_at = timezone.now()
        mark = Mark(place, stored.column, stored.type, stored.value, seen_at, ties, changes, warnings=doubts)
    seen = {"column": mark.column, "type": mark.type, "value": mark.value or ""}
    keep_copy(place.pipeline, place.target.id, place.key.table, **seen)
    return mark


def keep_copy(pipeline: Pipeline, node: str, table: TableName, **seen: str) -> None:
    """`seen` are the mark's column, type and value."""
    MarkCopy.objects.update_or_create(
        pipeline=pipeline,
        node=node,
        defaults={
            "workspace_id": pipeline.workspace_id,
            "schema": table.schema,
            "table": table.table,
            "seen_at": timezone.now(),
            **seen,
        },
    )


def find_copy(place: Place) -> MarkCopy | None:
    """What was last seen of this mark; nothing is said of another table's that the node loaded before."""
    table = place.key.table
    return MarkCopy.objects.filter(
        pipeline=place.pipeline, node=place.target.id, schema=table.schema, table=table.table
    ).first()


@dataclass(frozen=True, slots=True)
class SavedMark:
    """What the editor says of a node's mark without asking any database."""

    place: Place
    copy: MarkCopy | None


def saved_mark(pipeline: Pipeline, node: str) -> SavedMark | None:
    """None for nodes that follow no mark in the newest version."""
    for place in places_of(pipeline):
        if place.target.id == node:
            return SavedMark(place, find_copy(place))
    return None


def _copy(place: Place, trouble: str) -> Mark:
    copy = find_copy(place)
    if copy is None:
        return Mark(place, place.column, "", None, None, trouble=trouble)
    return Mark(place, copy.column, copy.type, copy.value or None, copy.seen_at, trouble=trouble)


def mark_document(mark: Mark) -> dict[str, Any]:
    """As the API and the command line give it."""
    target = mark.place.target
    return {
        "pipeline": mark.place.pipeline.ident,
        "node": target.id,
        "connection": target.connection,
        "schema": target.schema_,
        "table": target.table,
        "column": mark.column,
        "type": mark.type or None,
        "value": mark.value,
        "lag": target.watermark_lag,
        "ties": mark.ties,
        "isLive": not mark.trouble,
        "trouble": mark.trouble or None,
        "seenAt": mark.seen_at.isoformat() if mark.seen_at else None,
        "changes": [_change_document(change) for change in mark.changes],
        "warnings": [asdict(warning) for warning in mark.warnings],
    }


def _change_document(change: MarkChange) -> dict[str, Any]:
    return {
        "at": change.at.isoformat(),
        "action": change.action,
        "by": change.by,
        "run": change.run_id,
        "reason": change.reason,
        "column": change.column,
        "old": change.old,
        "new": change.new,
    }
