"""Backfills into PostgreSQL: what the plan must know of the target, and the transaction that ends a backfill."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from psycopg import sql

from executors.destinations.base import BackfillTarget
from executors.destinations.postgres.chunks import refuse_lost
from executors.errors import Terminal
from executors.load_record import InputCounts, LoadCommit, LoadedSource, LoadRecord, WatermarkValue
from executors.model import BackfillMark, Destination, SourceState
from executors.postgres import meta
from executors.postgres.client import translate
from executors.postgres.ddl import Conn, brief_transaction
from executors.postgres.fences import remove_chunk_fences, require_fence
from executors.postgres.filled import describe_content
from executors.postgres.incremental_range import lag_of, open_range, type_of
from executors.postgres.inspect import inspect_target
from executors.postgres.replacing import require_replaceable
from executors.postgres.table_lock import lock_table
from executors.postgres.watermarks import (
    WatermarkKey,
    delete_boundary_rows,
    find_watermark,
    note_change,
    write_watermark,
)
from executors.runs.target_run import TargetRun
from executors.table_name import TableName
from executors.widening import declared_as
from ir.durations import parse_duration
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.types import ColumnType

if TYPE_CHECKING:
    from executors.runs.state import RunContext


def open_backfill(context: RunContext, run: TargetRun, *, is_rewind: bool) -> BackfillTarget:
    """See `DestinationHandler.open_backfill`."""
    target, conn = run.path.target, run.connection
    with translate(target.id), brief_transaction(conn):
        row = conn.execute("SELECT now() + %s", [_lead(target)]).fetchone()
        dest = inspect_target(conn, target.schema_, target.table)
        if not load_mode(target.load_mode).keeps_watermark:
            return BackfillTarget(row[0])
        if not is_rewind:
            _refuse_filled(conn, _key(context, target), target)
            return BackfillTarget(row[0], target.watermark_column, _type_name(target, dest))
    bound = _bound_of_rewind(context, conn, target, dest)
    return BackfillTarget(row[0], target.watermark_column, _type_name(target, dest), bound)


def _bound_of_rewind(context: RunContext, conn: Conn, target: Target, dest: Destination | None) -> str:
    """Return the value from which the next load compares rows with those that it knows: rows from there on cannot be
    replaced."""
    rows_range = open_range(conn, context.job.tenant, context.job.pipeline.id, target)
    if dest is None or rows_range is None or rows_range.stored is None or rows_range.bound is None:
        raise Terminal(
            "backfill.not_ended",
            f"{target.schema_}.{target.table} has no watermark yet, so there is nothing to load again.",
            node=target.id,
            hint="Let the backfill end first.",
        )
    with translate(target.id), brief_transaction(conn):
        require_replaceable(conn, dest, target.id)
    return rows_range.bound


def _lead(target: Target) -> timedelta:
    return parse_duration(target.watermark_lead) if target.watermark_lead else timedelta()


def _key(context: RunContext, target: Target) -> WatermarkKey:
    return WatermarkKey(context.job.tenant, context.job.pipeline.id, TableName(target.schema_, target.table))


def _type_name(target: Target, dest: Destination | None) -> str | None:
    """Return the type of the watermark column, None while nothing determines it."""
    if dest is not None:
        lag_of(target, dest)
        return type_of(target, dest).declared
    declared = (c.type for c in target.columns or () if c.name == target.watermark_column)
    return next((declared_as(ColumnType.parse(name)) for name in declared), None)


def _refuse_filled(conn: Conn, key: WatermarkKey, target: Target) -> None:
    """Refuse a table that has rows or a watermark: chunks would add the rows of the source to those."""
    has = describe_content(conn, key)
    if not has:
        return
    raise Terminal(
        "backfill.target_filled",
        f"{key.table} has {has}. A backfill would add every row of the source to it, those that it has included.",
        node=target.id,
        hint="Empty the table and reset its watermark, remove backfill from the pipeline to continue where the table "
        "ends, or use upsert. To load rows again, load a range of the backfill again.",
    )


def finish_backfill(context: RunContext, run: TargetRun, mark: BackfillMark, state: SourceState | None) -> LoadCommit:
    """See `DestinationHandler.finish_backfill`."""
    target, conn = run.path.target, run.connection
    ref = context.run_ref(target)
    with translate(target.id), conn.transaction():
        require_fence(conn, ref)
        if committed := meta.find_commit(conn, ref):
            return committed
        table = TableName(target.schema_, target.table)
        lock_table(conn, table, target.id, in_turn=True)
        remove_chunk_fences(conn, ref)
        refuse_lost(conn, ref, table, mark.chunks)
        watermark = _set_mark(conn, context, target, mark)
        if state is not None:
            state = replace(state, columns=meta.columns_read(conn, ref))
        commit = LoadCommit(
            run_id=ref.run_id,
            node=ref.node,
            attempt=ref.attempt,
            token=ref.token,
            load_mode=target.load_mode,
            table=meta.table_identity(conn, table.schema, table.table),
            watermark=watermark,
            record=LoadRecord(
                input=InputCounts(rows_read=0, rows_filtered=0, rows_rejected=0, rows_warned=0),
                sources=(LoadedSource(run.path.source.id, state=state),),
            ),
        )
        meta.write_commit(conn, ref, commit)
    return meta.marker_of(conn, ref)


def _set_mark(conn: Conn, context: RunContext, target: Target, mark: BackfillMark) -> WatermarkValue | None:
    """Store the watermark of a target that has one. The next load begins at the cut at the latest, even if its lag is
    shorter now than that of the plan, and compares rows from there on with those of the table."""
    if mark.mark is None or not load_mode(target.load_mode).keeps_watermark:
        return None
    key, dest = _key(context, target), inspect_target(conn, target.schema_, target.table)
    if dest is None:
        raise Terminal(
            "target.table_gone",
            f"{target.schema_}.{target.table} does not exist, though chunks were loaded into it.",
            node=target.id,
            hint="Restore the table, or start the backfill again.",
        )
    kind = type_of(target, dest)
    old = find_watermark(conn, key, lock=True)
    delete_boundary_rows(conn, old)
    value, cut = (_canonical(conn, kind.of(sql.Literal(text))) for text in (mark.mark, mark.cut or mark.mark))
    write_watermark(conn, key, str(target.watermark_column), kind, value, known_from=cut)
    reason, column = "the backfill has ended", str(target.watermark_column)
    note_change(conn, key, "run", column, old.value if old else None, value, reason=reason, run_id=context.job.run_id)
    return WatermarkValue(column, kind.name, value)


def _canonical(conn: Conn, value: sql.Composable) -> str:
    row = conn.execute(sql.SQL("SELECT ({})::text").format(value)).fetchone()
    if row is None:
        raise LookupError("the database returned no value")
    return str(row[0])
