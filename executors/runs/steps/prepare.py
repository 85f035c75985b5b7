"""From what is read for a target to the first state of its load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from executors.destination import ready_table, table_to_look_at
from executors.markers import add_warnings
from executors.model import Destination, SourceField, StageColumn
from executors.postgres import staging
from executors.reading import Reading
from executors.rules import require_rule_columns
from executors.runs.state import Load, LoadState, RejectedRows, RunContext
from executors.runs.steps.watermark import narrow_reading, open_window_of, warnings_of
from executors.runs.target_run import TargetRun
from executors.target_checks import TargetChecks
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.spark.compiled import Compiled

Table = tuple[Destination, tuple[StageColumn, ...]]


@contextmanager
def prepared_load(
    context: RunContext, target: TargetRun, reading: Reading, rejected: RejectedRows | None = None
) -> Iterator[LoadState]:
    """The state of a load, its table made ready. A table that is made for it is dropped if the load fails."""
    compiled = compile_reading(context, target.path, reading)
    rows_range = open_window_of(context, target.connection, target.path.target)
    add_warnings(context.report, warnings_of(rows_range, target.path.target))
    reading = narrow_reading(reading, rows_range, target.path)
    with ready_table(target.connection, target.path.target, compiled.fields) as table:
        load = new_load(context, target, reading, table, compiled.fields, compiled, rejected)
        yield LoadState(load, rows_range, rows_read=reading.records or 0)


@contextmanager
def prepared_look(
    context: RunContext, target: TargetRun, reading: Reading, rejected: RejectedRows | None = None
) -> Iterator[LoadState]:
    """The same for who loads nothing. An empty table stands in for one that a load would make."""
    compiled = compile_reading(context, target.path, reading)
    tables = staging.staging_tables(context.job.run_id, target.path.target.id, context.job.attempt)
    with table_to_look_at(target.connection, target.path.target, compiled.fields, tables) as table:
        load = new_load(context, target, reading, table, compiled.fields, compiled, rejected)
        yield LoadState(load, rows_read=reading.records or 0)


def compile_reading(context: RunContext, path: Path, reading: Reading) -> Compiled:
    """Spark is imported here, because the web process imports this module too."""
    from executors.spark.columns import compile_path

    compiled = compile_path(context.session, path, reading.fields)
    require_rule_columns(path.validates, [column.name for column in compiled.fields])
    return compiled


def new_load(
    context: RunContext,
    target: TargetRun,
    reading: Reading,
    table: Table,
    fields: tuple[SourceField, ...],
    compiled: Compiled | None = None,
    rejected: RejectedRows | None = None,
) -> Load:
    """The load of one target by this attempt."""
    job, node, now = context.job, target.path.target, datetime.now(UTC)
    dest, columns = table
    return Load(
        context=context,
        path=target.path,
        connection=target.connection,
        hooks=target.hooks,
        checks=TargetChecks(job, target.path, target.connection, now, target.hooks.interruption),
        reading=reading,
        ref=context.run_ref(node),
        staged_in=job.attempt,
        tables=staging.staging_tables(job.run_id, node.id, job.attempt),
        dest=dest,
        fields=fields,
        columns=columns,
        quarantine=quarantine_tables(target.path),
        # Rows that still fail a rule stay where they are, however many.
        max_rejected_pct=0 if rejected else node.fail_at_rejected_pct,
        now=now,
        compiled=compiled,
        rejected=rejected,
    )


def quarantine_tables(path: Path) -> dict[str, str]:
    """Which table keeps the rows that a node rejects: a validate node its own, all other nodes the last one's."""
    kept = {v.id: v.quarantine.table for v in path.validates if v.quarantine and v.quarantine.enabled}
    if kept:
        last = list(kept.values())[-1]
        for node in (path.source, *path.transforms, path.target):
            kept[node.id] = last
    return {node: table for node, table in kept.items() if table is not None}
