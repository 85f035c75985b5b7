"""Delta tables as a destination of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from executors import accounting
from executors.delta import tables
from executors.delta.commit import commit_load
from executors.delta.load_modes import LOAD_MODES, READS_STAGED
from executors.delta.plan import DeltaPlan
from executors.delta.staging import DeltaStagingArea, StagedFiles
from executors.destinations.base import Access, Capabilities, DestinationHandler, Prepared, Reevaluation
from executors.destinations.delta.opening import DeltaTarget, fence_and_find_commits, open_delta, settle_last
from executors.destinations.delta.rejects import RejectStore, StagedRejects
from executors.destinations.postgres.staging import PostgresStagingArea, tables_of
from executors.load_record import (
    InputCounts,
    LoadCommit,
    LoadCounts,
    Loaded,
    LoadedSource,
    LoadFile,
    LoadRecord,
    RunRef,
    TableIdentity,
)
from executors.model import Connection, Destination, RunJob, SourceField, SourceState, StoreConnection
from executors.postgres import quarantine, staging
from executors.reading import Reading
from executors.runs.state import Load, LoadState, RunContext
from executors.runs.target_run import TargetRun
from executors.secrets import encrypt, encrypt_store
from executors.stage_plan import FILLED, plan_stage_columns
from executors.target_hooks import TargetHooks
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.pipeline import Path

if TYPE_CHECKING:
    import pyarrow as pa


class DeltaDestination(DestinationHandler):
    """Loads Delta tables in a folder or bucket. A commit to the log of the table adds the files of a load together with
    its marker."""

    capabilities = Capabilities(load_modes=frozenset(LOAD_MODES), quarantine=True)
    filled_columns = frozenset(FILLED)

    # --- inspect ----------------------------------------------------------------------------------------------

    def open(self, context: RunContext, paths: tuple[Path, ...], access: Access) -> TargetRun:
        target = paths[0].target
        hooks = TargetHooks(context.job, context.ports, context.report, target)
        opened = open_delta(context, paths, fences=access == "load")
        commit = settle_last(opened, target, context.run_ref(target)) if access == "load" else None
        run = TargetRun(self, paths, opened, hooks, commit)
        return replace(run, table_exists=self.find_table(run) is not None)

    def find_table(self, target: TargetRun) -> Destination | None:
        opened: DeltaTarget = target.connection
        return tables.describe(opened.table, target.path.target) if opened.table is not None else None

    def fence_and_find_commits(
        self,
        target: Target,
        run: RunRef,
        connections: Mapping[str, Connection],
        stores: Mapping[str, StoreConnection],
    ) -> list[LoadCommit]:
        return fence_and_find_commits(stores[target.connection], connections, target, run)

    # --- prepare ----------------------------------------------------------------------------------------------

    @contextmanager
    def prepare(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> Iterator[Prepared]:
        node, dest = target.path.target, self.find_table(target)
        table = dest or tables.describe_new(node, tables.schema_to_create(node, fields), fields)
        columns = plan_stage_columns(node, fields, table, is_new=dest is None)
        yield Prepared(table, columns, reading)

    # --- stage ------------------------------------------------------------------------------------------------

    def create_staging(self, load: Load) -> None:
        """Create the tables for rejects. The first file of a task creates its folder."""
        if rejects := _rejects_of(load):
            staging.create_staging(rejects.session, tables_of(load), ())

    def staging_area(self, load: Load) -> DeltaStagingArea:
        opened: DeltaTarget = load.connection
        rejects = opened.rejects
        return DeltaStagingArea(
            encrypt_store(opened.store),
            (load.target.schema_, load.target.table),
            _files_of(load),
            _schema_of(load),
            {origin.seq: origin.sha256 for origin in load.reading.origins if origin.sha256},
            load.target.load_mode in READS_STAGED,
            PostgresStagingArea(tables_of(load), encrypt(rejects.connection)) if rejects else None,
        )

    def drop_staging(self, load: Load) -> None:
        """Delete the files of this attempt that are not part of the table. After a commit whose result is unknown, the
        next attempt deletes them, behind its fence."""
        opened: DeltaTarget = load.connection
        if opened.rejects:
            staging.drop_staging(opened.rejects.session, tables_of(load))
        log, files = opened.log, _files_of(load)
        table = log.folder.open()
        marker = next(
            (one for one in (log.markers(table) if table else ()) if one.commit.token == load.ref.token), None
        )
        if marker is None and log.is_attempted(load.ref):
            return
        added = marker.added if marker else ()
        log.folder.delete(p for p in log.folder.list(load.ref.run_id) if files.is_added(p) and p not in added)
        log.folder.delete_folder(files.folder)

    # --- commit -----------------------------------------------------------------------------------------------

    def commit(
        self, state: LoadState, *, explains: bool = True, reevaluation: Reevaluation | None = None
    ) -> LoadCommit:
        plan, rejects = _plan_of(state), _rejects_of(state.load)
        if rejects is None:
            return commit_load(plan, partial(_commit_of, state)).commit
        stored = rejects.store(plan.run, _staged_rejects(state))
        marker = commit_load(plan, partial(_commit_of, state, quarantined=stored))
        return rejects.settle(plan.run, marker, state.target.connection)

    # --- rejects ----------------------------------------------------------------------------------------------

    def probe_quarantine(self, load: Load) -> None:
        if rejects := _rejects_of(load):
            rejects.probe(list(dict.fromkeys(load.quarantine.values())), load.target.id)

    def ready_quarantine(self, state: LoadState) -> None:
        rejects, nodes = _rejects_of(state.load), {rule.node for rule in state.rules if rule.violations}
        for table in dict.fromkeys(table for node, table in state.load.quarantine.items() if node in nodes):
            if rejects:
                quarantine.ensure_quarantine(rejects.session, table)

    def keep_rejects(self, state: LoadState) -> tuple[int, int]:
        """Store the rejected rows of a failed load. If it has committed after all, the next attempt settles it."""
        load, rejects = state.load, _rejects_of(state.load)
        if rejects is None:
            return 0, 0
        return quarantine.keep_rejects(
            rejects.session, load.ref, tables_of(load), state.result.winners, load.quarantine
        )

    def count_rejected_by_file(self, state: LoadState) -> Mapping[int, int]:
        rejects = _rejects_of(state.load)
        if rejects is None:
            return {}
        return staging.count_rejected_by_file(rejects.session, tables_of(state.load), state.result.winners)

    # --- trace ------------------------------------------------------------------------------------------------

    def find_loaded(self, job: RunJob, target: TargetRun, source: str, hashes: Collection[str]) -> Mapping[str, Loaded]:
        found: dict[str, Loaded] = {}
        for commit in _commits(target):
            for sha256 in commit.files_of(source):
                if sha256 in hashes:
                    found.setdefault(sha256, Loaded(commit.token, commit.node))
        return found

    def find_last_files(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, Collection[str]] | None:
        last = next(_commits(target), None)
        return (last.token, last.files_of(source)) if last else None

    def find_state(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, SourceState] | None:
        for commit in _commits(target):
            for one in commit.record.sources:
                if one.source == source:
                    return (commit.token, one.state) if one.state is not None else None
        return None

    def find_loaded_elsewhere(self, job: RunJob, target: TargetRun) -> str | None:
        opened: DeltaTarget = target.connection
        former = next(iter(opened.log.find_former()), None) if not opened.markers else None
        return f"{former.table.schema}.{former.table.table}" if former else None


def _commits(target: TargetRun) -> Iterator[LoadCommit]:
    """Yield the commits of earlier runs, the newest first."""
    opened: DeltaTarget = target.connection
    return (marker.commit for marker in opened.markers)


def _rejects_of(load: Load) -> RejectStore | None:
    opened: DeltaTarget = load.connection
    return opened.rejects


def _staged_rejects(state: LoadState) -> StagedRejects:
    load = state.load
    return StagedRejects(tables_of(load), state.result.winners, state.rows_rejected, load.quarantine)


def _read_files(load: Load) -> Sequence[LoadFile]:
    return [LoadFile(one.seq, one.name, one.sha256, one.is_unit, one.source) for one in load.reading.origins]


def _files_of(load: Load) -> StagedFiles:
    return StagedFiles(load.ref.run_id, load.ref.node, load.staged_in)


def _schema_of(load: Load) -> pa.Schema:
    opened: DeltaTarget = load.connection
    if opened.table is not None:
        return tables.schema_of(opened.table)
    return tables.schema_to_create(load.target, load.fields)


def _plan_of(state: LoadState) -> DeltaPlan:
    load, target = state.load, state.target
    opened: DeltaTarget = load.connection
    has_keys = load_mode(target.load_mode).needs_key
    return DeltaPlan(
        run=load.ref,
        log=opened.log,
        files=_files_of(load),
        winners=state.result.winners,
        staged=state.result.total("rows_staged"),
        load_mode=target.load_mode,
        schema=_schema_of(load),
        columns=load.columns,
        key=tuple(target.upsert_key or ()) if has_keys else (),
        order_by=(target.order_by or target.watermark_column) if has_keys else None,
        keeps_order=load.reading.keeps_order,
        is_exploded=load.is_exploded,
        names={origin.seq: origin.name for origin in load.reading.origins},
        rejects=opened.rejects.name if opened.rejects else None,
        read=_read_files(load) if opened.rejects else (),
        on_cancel=load.context.interrupts.add,
    )


def _commit_of(state: LoadState, counts: LoadCounts, *, quarantined: tuple[int, int] = (0, 0)) -> LoadCommit:
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
