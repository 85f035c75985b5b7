"""Prepares the first state of a load from the reading of its target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from executors.destinations.base import Prepared
from executors.model import SourceField
from executors.reading import Reading, reading_together
from executors.rules import require_rule_columns
from executors.runs.state import Head, Inputs, Load, LoadState, RejectedRows, RunContext
from executors.runs.target_run import TargetRun
from ir.nodes import Target
from ir.pipeline import Path


@contextmanager
def prepared_load(
    context: RunContext, target: TargetRun, inputs: Inputs, rejected: RejectedRows | None = None
) -> Iterator[LoadState]:
    """Yield the state of a load with its table prepared. A table that was created for it is dropped if the load
    fails."""
    heads, reading = compile_inputs(context, inputs), reading_together([one for _, one in inputs])
    fields = heads[0].compiled.fields
    with target.handler.prepare(context, target, reading, fields) as prepared:
        if len(inputs) == 1:  # the reading may begin at a bound now
            heads = (replace(heads[0], reading=prepared.reading),)
        load = new_load(context, target, prepared, fields, heads, rejected)
        yield LoadState(load, prepared.rows_range, rows_read=reading.records or 0)


@contextmanager
def prepared_read_only(
    context: RunContext, target: TargetRun, inputs: Inputs, rejected: RejectedRows | None = None
) -> Iterator[LoadState]:
    """Yield the state of a run that loads nothing. An empty table replaces one that a load would create."""
    heads, reading = compile_inputs(context, inputs), reading_together([one for _, one in inputs])
    fields = heads[0].compiled.fields
    with target.handler.prepare_read_only(context, target, reading, fields) as prepared:
        load = new_load(context, target, prepared, fields, heads, rejected)
        yield LoadState(load, rows_read=reading.records or 0)


def compile_inputs(context: RunContext, inputs: Inputs) -> tuple[Head, ...]:
    """Compile each path for its reading. The columns of all must be those of the first where their rows are united.

    Raises Terminal `union.column_missing` and `union.column_type`, and the errors of `compile_path`. Spark is imported
    here, because the web process imports this module too."""
    from executors.spark.columns import compile_path

    heads: list[Head] = []
    for path, reading in inputs:
        if reading.is_blank and len(inputs) > 1:
            continue  # it has no rows, and its columns are unknown
        united = heads[0].compiled.united if heads else None
        references = reading.references
        compiled = compile_path(context.session, path, reading.fields, references=references, united=united)
        require_rule_columns(path.validates, [column.name for column in compiled.fields])
        heads.append(Head(path, reading, compiled))
    return tuple(heads)


def new_load(
    context: RunContext,
    target: TargetRun,
    prepared: Prepared,
    fields: tuple[SourceField, ...],
    heads: tuple[Head, ...] = (),
    rejected: RejectedRows | None = None,
) -> Load:
    """Return the load of one target by this attempt."""
    job, node = context.job, target.path.target
    return Load(
        context=context,
        paths=target.paths,
        handler=target.handler,
        connection=target.connection,
        hooks=target.hooks,
        reading=prepared.reading,
        ref=context.run_ref(node),
        staged_in=job.attempt,
        dest=prepared.dest,
        fields=fields,
        columns=prepared.columns,
        quarantine=quarantine_tables(target.paths),
        # A replay never fails because of rejected rows: they stay in quarantine.
        max_rejected_pct=0 if rejected else _max_rejected_pct(prepared.reading, node),
        now=datetime.now(UTC),
        charset=prepared.charset,
        changes=prepared.changes,
        heads=heads,
        rejected=rejected,
    )


def _max_rejected_pct(reading: Reading, target: Target) -> float:
    """Return the share of rejected rows at which a load fails. By default that is a load without any accepted row, but
    changes of a table are often few, and one bad row must not stop all changes after it."""
    limit = target.fail_at_rejected_pct
    are_changes = reading.changes is not None and not reading.changes.is_snapshot
    return 0 if are_changes and limit == 100 else limit


def quarantine_tables(paths: Sequence[Path]) -> dict[str, str]:
    """Return the table for the rejected rows of each node: a validate node has its own table, all other nodes use the
    last one."""
    tables = {v.id: v.quarantine.table for v in paths[0].validates if v.quarantine and v.quarantine.enabled}
    if tables:
        last = list(tables.values())[-1]
        for path in paths:
            tables |= dict.fromkeys((node.id for node in (path.source, *path.transforms, path.target)), last)
    return {node: table for node, table in tables.items() if table is not None}
