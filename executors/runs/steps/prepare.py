"""Prepares the first state of a load from the reading of its target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from executors.destinations.base import Prepared
from executors.model import SourceField
from executors.reading import Reading
from executors.rules import require_rule_columns
from executors.runs.state import Load, LoadState, RejectedRows, RunContext
from executors.runs.target_run import TargetRun
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.spark.compiled import Compiled


@contextmanager
def prepared_load(
    context: RunContext, target: TargetRun, reading: Reading, rejected: RejectedRows | None = None
) -> Iterator[LoadState]:
    """Yield the state of a load with its table prepared. A table that was created for it is dropped if the load
    fails."""
    compiled = compile_reading(context, target.path, reading)
    with target.handler.prepare(context, target, reading, compiled.fields) as prepared:
        load = new_load(context, target, prepared, compiled.fields, compiled, rejected)
        yield LoadState(load, prepared.rows_range, rows_read=reading.records or 0)


@contextmanager
def prepared_read_only(
    context: RunContext, target: TargetRun, reading: Reading, rejected: RejectedRows | None = None
) -> Iterator[LoadState]:
    """Yield the state of a run that loads nothing. An empty table replaces one that a load would create."""
    compiled = compile_reading(context, target.path, reading)
    with target.handler.prepare_read_only(context, target, reading, compiled.fields) as prepared:
        load = new_load(context, target, prepared, compiled.fields, compiled, rejected)
        yield LoadState(load, rows_read=reading.records or 0)


def compile_reading(context: RunContext, path: Path, reading: Reading) -> Compiled:
    """Compile the path for a reading. Spark is imported here, because the web process imports this module too."""
    from executors.spark.columns import compile_path

    compiled = compile_path(context.session, path, reading.fields, references=reading.references)
    require_rule_columns(path.validates, [column.name for column in compiled.fields])
    return compiled


def new_load(
    context: RunContext,
    target: TargetRun,
    prepared: Prepared,
    fields: tuple[SourceField, ...],
    compiled: Compiled | None = None,
    rejected: RejectedRows | None = None,
) -> Load:
    """Return the load of one target by this attempt."""
    job, node = context.job, target.path.target
    return Load(
        context=context,
        path=target.path,
        handler=target.handler,
        connection=target.connection,
        hooks=target.hooks,
        reading=prepared.reading,
        ref=context.run_ref(node),
        staged_in=job.attempt,
        dest=prepared.dest,
        fields=fields,
        columns=prepared.columns,
        quarantine=quarantine_tables(target.path),
        # A replay never fails because of rejected rows: they stay in quarantine.
        max_rejected_pct=0 if rejected else node.fail_at_rejected_pct,
        now=datetime.now(UTC),
        charset=prepared.charset,
        compiled=compiled,
        rejected=rejected,
    )


def quarantine_tables(path: Path) -> dict[str, str]:
    """Return the table for the rejected rows of each node: a validate node has its own table, all other nodes use the
    last one."""
    tables = {v.id: v.quarantine.table for v in path.validates if v.quarantine and v.quarantine.enabled}
    if tables:
        last = list(tables.values())[-1]
        for node in (path.source, *path.transforms, path.target):
            tables[node.id] = last
    return {node: table for node, table in tables.items() if table is not None}
