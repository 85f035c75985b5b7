"""What a load of a Delta table does, from the state of its run, and its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from executors import accounting
from executors.delta import tables
from executors.delta.load_modes import READS_STAGED
from executors.delta.plan import DeltaPlan
from executors.delta.staging import StagedFiles
from executors.destinations.delta.opening import DeltaTarget
from executors.destinations.delta.rejects import RejectStore, StagedRejects
from executors.destinations.postgres.rejected_rows import files_of_rows
from executors.destinations.postgres.staging import tables_of
from executors.load_record import (
    InputCounts,
    LoadCommit,
    LoadCounts,
    LoadedSource,
    LoadFile,
    LoadRecord,
    TableIdentity,
)
from executors.runs.state import Load, LoadState
from ir.load_modes import load_mode

if TYPE_CHECKING:
    import pyarrow as pa


def rejects_of(load: Load) -> RejectStore | None:
    opened: DeltaTarget = load.connection
    return opened.rejects


def staged_rejects(state: LoadState) -> StagedRejects:
    load = state.load
    return StagedRejects(tables_of(load), state.result.winners, state.rows_rejected, load.quarantine)


def read_files(load: Load) -> Sequence[LoadFile]:
    """Return the files of the rows. Those of rejected rows are the files of the runs that rejected them."""
    if load.rejected is None:
        return [LoadFile(one.seq, one.name, one.sha256, one.is_unit, one.source) for one in load.reading.origins]
    return files_of_rows(load.rejected, load.path.source.id)


def hashes_of(load: Load) -> Mapping[int, str]:
    """Return the SHA-256 of the files by their positions, where they are files and known."""
    return {file.seq: file.sha256 for file in read_files(load) if file.sha256}


def rewrites(load: Load) -> bool:
    """Return whether the load reads the staged rows again. It must know the positions of rejected rows, which the files
    of the table do not have."""
    return load.target.load_mode in READS_STAGED or load.rejected is not None


def files_of(load: Load) -> StagedFiles:
    return StagedFiles(load.ref.run_id, load.ref.node, load.staged_in)


def schema_of(load: Load) -> pa.Schema:
    opened: DeltaTarget = load.connection
    if opened.table is not None:
        return tables.schema_of(opened.table)
    return tables.schema_to_create(load.target, load.fields)


def plan_of(state: LoadState) -> DeltaPlan:
    load, target = state.load, state.target
    opened: DeltaTarget = load.connection
    has_keys = load_mode(target.load_mode).needs_key
    return DeltaPlan(
        run=load.ref,
        log=opened.log,
        files=files_of(load),
        winners=state.result.winners,
        staged=state.result.total("rows_staged"),
        load_mode=target.load_mode,
        schema=schema_of(load),
        columns=load.columns,
        key=tuple(target.upsert_key or ()) if has_keys else (),
        order_by=(target.order_by or target.watermark_column) if has_keys else None,
        keeps_order=load.reading.keeps_order,
        is_exploded=load.is_exploded,
        names={origin.seq: origin.name for origin in load.reading.origins},
        rejects=opened.rejects.name if opened.rejects else None,
        read=read_files(load),
        rewrites=rewrites(load),
        on_cancel=load.context.interrupts.add,
    )


def commit_of(state: LoadState, counts: LoadCounts, *, quarantined: tuple[int, int] = (0, 0)) -> LoadCommit:
    """Return the commit of a load with these counts, and the numbers of rows and entries in quarantine."""
    rows, entries = quarantined
    load, target, origins = state.load, state.target, state.load.reading.origins
    source = load.path.source.id
    after = next((origin.state for origin in origins), None)
    return LoadCommit(
        load.ref.run_id,
        load.ref.node,
        load.ref.attempt,
        TableIdentity(target.schema_, target.table, None),
        token=load.ref.token,
        load_mode=target.load_mode,
        counts=replace(counts, quarantine_rows=rows, quarantine_entries=entries),
        reject_tables=tuple(dict.fromkeys(load.quarantine.values())),
        source_fields=tuple(load.reading.fields),
        record=LoadRecord(
            input=InputCounts(**state.node_counts),
            nodes=tuple(accounting.reports_of(load.paths, state.rows_read, state.result)),
            rules=tuple(replace(rule, first=()) for rule in state.rules),
            checks=tuple(state.check_reports),
            sources=(LoadedSource(source, state=after),),
        ),
        files_done=load.reading.units,
    )
