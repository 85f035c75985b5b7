"""The statements with which a scheduler advances many schedules and queues their runs. Their number does not depend on
the number of pipelines."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.models import F, Func, UUIDField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from psycopg import sql

from flowapp.batches import IsAnyOf
from flowapp.clock import Now, from_now
from flowapp.pipelines.models import Pipeline, PipelineVersion
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import UNATTENDED_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Moved:
    """A schedule that advances to `next_at`. `run_at` is the time for which a run is queued, None without a run."""

    pipeline: UUID
    next_at: datetime | None
    run_at: datetime | None = None


class _NewId(Func):
    template, output_field = "gen_random_uuid()", UUIDField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="LOWER(HEX(RANDOMBLOB(16)))", **context)


_COLUMNS: dict[str, Combinable] = {
    "id": _NewId(),
    "workspace": F("workspace"),
    "pipeline": F("pipeline"),
    "version": F("pk"),
    "number": F("pipeline__run_counter"),
    "max_attempts": Coalesce(F("max_attempts"), UNATTENDED_ATTEMPTS),
    "scheduled_at": F("pipeline__fired_at"),
    "queued_at": Now(),
    "due_at": Now(),
    # The task that resends runs sends them, because it limits how many it sends at once.
    "sent_at": from_now(-settings.RESEND_SECONDS),
}
"""The columns that differ between the runs, from the newest version of each pipeline."""


_ONE = (
    "UPDATE pipelines_pipeline SET next_fire_at = %s, fired_at = COALESCE(%s, fired_at),"
    " run_counter = run_counter + %s WHERE id = %s"
)
_ALL = (
    "UPDATE pipelines_pipeline SET next_fire_at = moved.next_at, fired_at = COALESCE(moved.run_at, fired_at),"
    " run_counter = run_counter + moved.runs"
    " FROM unnest(%s::timestamptz[], %s::timestamptz[], %s::int[], %s::uuid[]) AS moved (next_at, run_at, runs, id)"
    " WHERE pipelines_pipeline.id = moved.id"
)
"""The same for all rows at once: PostgreSQL reads and plans one statement instead of thousands."""


def move_on(moved: Sequence[Moved]) -> None:
    """Advance the schedules and queue their runs. The caller holds the locks of the pipelines."""
    if not moved:
        return
    rows = [(one.next_at, one.run_at, int(one.run_at is not None), one.pipeline) for one in moved]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(_ALL, [list(column) for column in zip(*rows, strict=True)])
        else:
            cursor.executemany(_ONE, [_as_stored(row) for row in rows])
        if pipelines := [one.pipeline for one in moved if one.run_at is not None]:
            _queue_runs(cursor, pipelines)


def _as_stored(row: tuple[datetime | None, datetime | None, int, UUID]) -> list[Any]:
    key, moment = Pipeline._meta.pk, Pipeline._meta.get_field("next_fire_at")
    times = [moment.get_db_prep_save(value, connection) for value in row[:2]]
    return [*times, row[2], key.get_db_prep_save(row[3], connection)]


def _queue_runs(cursor: Any, pipelines: Collection[UUID]) -> None:
    usual = Run(trigger=Trigger.SCHEDULE)
    columns = {
        str(field.column): _COLUMNS.get(field.name) or Value(getattr(usual, field.attname), output_field=field)
        for field in Run._meta.concrete_fields
        if field.name in _COLUMNS or getattr(usual, field.attname) is not None
    }
    newest = PipelineVersion.objects.filter(IsAnyOf("pipeline", pipelines), number=F("pipeline__latest_number"))
    named = {f"run_{column}": value for column, value in columns.items()}
    select, values = newest.annotate(**named).values_list(*named).query.sql_with_params()
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    insert = sql.SQL("INSERT INTO {} ({}) ").format(sql.Identifier(Run._meta.db_table), names)
    cursor.execute(insert.as_string() + select, values)
