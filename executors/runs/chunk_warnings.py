"""Warnings of a backfill that ends: what has changed in the source or in the table since its chunks were loaded."""

from __future__ import annotations

from executors.model import BackfillMark, ChunkChange
from executors.report import RunWarning
from executors.runs.target_run import TargetRun
from ir.nodes import Source
from ir.words import counted

MOST_NAMED = 10


def added_warning(source: Source, added: list[ChunkChange]) -> RunWarning:
    rows = sum(change.rows_now - change.rows_read for change in added)
    chunks = [change for change in added if change.ordinal is not None]
    others = sum(change.rows_now for change in added if change.ordinal is None)
    parts = [f"chunks {_named(chunks)}"] if chunks else []
    parts += [f"partitions that no chunk has ({others:,})"] if others else []
    return RunWarning(
        "backfill.rows_added",
        source.id,
        f"{counted(rows, 'row')} below the cut came into the source after their chunk was read, and may be missing in "
        f"the target: {'; '.join(parts)}.",
    )


def moved_warning(source: Source, column: str, moved: list[ChunkChange]) -> RunWarning:
    return RunWarning(
        "backfill.rows_moved",
        source.id,
        f"Rows were deleted in the source, or their {column} was changed, after their chunk was read: chunks "
        f"{_named(moved)}. The target has them as they were read, and has those twice that another chunk or the next "
        "load reads too.",
    )


def gone_warnings(target: TargetRun, mark: BackfillMark) -> list[RunWarning]:
    """Warn of a table that others have emptied, or from which they have deleted rows, while chunks were loaded."""
    if not any(loaded.rows_read for loaded in mark.chunks):
        return []
    rows, inserted = target.handler.count_rows(target, mark.chunks)
    if rows >= inserted:
        return []
    node = target.path.target
    text = (
        f"{node.schema_}.{node.table} has {counted(rows, 'row')}, and the chunks have inserted {inserted:,}: something "
        "else has deleted rows or emptied the table since."
    )
    return [RunWarning("backfill.rows_gone", node.id, text)]


def _named(changes: list[ChunkChange]) -> str:
    """Name the first chunks, each with what has changed."""
    named = ", ".join(f"{change.ordinal} ({_difference(change)})" for change in changes[:MOST_NAMED])
    return named + (f" and {len(changes) - MOST_NAMED} others" if len(changes) > MOST_NAMED else "")


def _difference(change: ChunkChange) -> str:
    more = change.rows_now - change.rows_read
    if not more:
        return "as many, with other values"
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'}"
