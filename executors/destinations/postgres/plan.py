"""Builds the plan of a target's load transaction from the run's state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from executors import accounting
from executors.destinations.postgres.staging import tables_of
from executors.errors import Terminal
from executors.load_record import InputCounts, LoadedSource, LoadFile, LoadFindings
from executors.model import ChunkJob
from executors.postgres.client import charset_of
from executors.postgres.load import LoadPlan
from executors.postgres.replacing import ReplacedRange
from executors.pushdown import source_column
from executors.rejects import GROUP, INPUT
from executors.runs.state import LoadState
from ir.load_modes import load_mode
from ir.nodes import Target


def load_plan(state: LoadState) -> LoadPlan:
    """Return what to load, and how."""
    load, target = state.load, state.target
    return LoadPlan(
        run=load.ref,
        dest=load.dest,
        columns=load.columns,
        tables=tables_of(load),
        winners=state.result.winners,
        staged=state.result.total("rows_staged") - state.skipped.rows,
        rejected=state.rows_rejected,
        load_mode=target.load_mode,
        upsert_key=target.upsert_key or (),
        rows_range=state.rows_range,
        skipped=state.skipped,
        backs_up=target.backup_before_load,
        order_by=_order_by(target),
        # Which of two rows of different sources is newer, only a column can say.
        keeps_order=load.reading.keeps_order and not load.is_united,
        row_form=GROUP if any(node.aggregates for node in load.path.transforms) else INPUT,
        is_exploded=load.is_exploded,
        united=[path.source.id for path in load.paths] if load.is_united else (),
        files=_files_of(state),
        quarantine=load.quarantine,
        input=InputCounts(**state.node_counts),
        findings=LoadFindings(
            nodes=tuple(accounting.reports_of(load.paths, state.rows_read, state.result)),
            # Positions of rows are reported only by rules that stop a run; a load that commits has none.
            rules=tuple(replace(rule, first=()) for rule in state.rules),
            checks=tuple(state.check_reports),
            reject_tables=tuple(dict.fromkeys(load.quarantine.values())),
            source_fields=tuple(load.reading.fields),
            sources=tuple(_sources_of(state)),
        ),
        before_swap=lambda: load.hooks.before_swap(state.node_counts),
        settings=load.hooks.settings(),
        hooks_ran=load.hooks.ran_before,
        changes=load.changes,
        replaced=_replaced(state),
        is_part=(job := load.context.job.chunk) is not None and not job.chunk.is_whole,
        cursor_sum=load.reading.cursor_sum,
        followed=load.reading.changes,
    )


def _files_of(state: LoadState) -> list[LoadFile]:
    shown = charset_of(state.load.connection).shown
    origins = state.load.reading.origins
    return [
        LoadFile(
            origin.seq,
            shown(origin.name),
            origin.sha256,
            origin.is_unit,
            origin.source,
            origin.source if state.load.is_united else "",
        )
        for origin in origins
    ]


def _sources_of(state: LoadState) -> Iterator[LoadedSource]:
    load = state.load
    fields = {head.path.source.id: head.reading.fields for head in load.heads}
    origins = load.reading.origins
    for source in dict.fromkeys(origin.source for origin in origins):
        files = tuple(origin.sha256 for origin in origins if origin.is_unit and origin.source == source)
        stored = tuple((field.name, str(field.type), field.as_text) for field in fields.get(source, ()))
        after = next((origin.state for origin in origins if origin.source == source), None)
        yield LoadedSource(source, files, stored, after) if load.is_united else LoadedSource(source, state=after)


def _replaced(state: LoadState) -> ReplacedRange | None:
    """Return the rows of the chunk of a rewind. A load mode with keys replaces rows by their keys, and its table need
    not have the cursor column."""
    job, target = state.load.context.job.chunk, state.target
    if job is None or not job.replaces:
        return None
    if load_mode(target.load_mode).needs_key:
        return _left(state, job)
    if target.watermark_column is None:
        return None
    partition = {}
    for name, text in job.chunk.partition.items():
        column = _column_of(state, name)
        if column is None:
            raise Terminal(
                "backfill.range_unknown",
                f"{name!r}, which partitions the source, does not arrive unchanged at {target.id}, so its rows cannot "
                "be replaced by partition.",
                node=target.id,
                hint="Pass the column on unchanged, or use upsert.",
            )
        partition[column] = text
    return ReplacedRange(target.watermark_column, job.chunk.lower, job.chunk.upper, partition, deletes=True)


def _left(state: LoadState, job: ChunkJob) -> ReplacedRange | None:
    """Return the range of a chunk in the table, if its column there has the same values as in the source."""
    chunk, name = job.chunk, _column_of(state, job.chunk.column)
    column = state.load.dest.column(name) if name is not None else None
    if column is None or column.declared != job.type or chunk.is_null or chunk.partition:
        return None
    return ReplacedRange(column.name, chunk.lower, chunk.upper, {}, deletes=False)


def _column_of(state: LoadState, name: str) -> str | None:
    """Return the column of the target that has the values of a column of the source unchanged."""
    path = state.load.path
    return next((c.name for c in state.load.columns if source_column(path, c.name) == name), None)


def _order_by(target: Target) -> str | None:
    """Return the column that decides which of two rows with the same key is newer. A load mode without keys needs
    none."""
    has_keys = load_mode(target.load_mode).needs_key
    return (target.order_by or target.watermark_column) if has_keys else None
