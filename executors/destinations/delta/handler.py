"""Delta tables as a destination of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial

from executors.checks import bound_checks, probe_checks, run_checks
from executors.delta import tables
from executors.delta.checks import HANDLERS, StagedInDelta, counting
from executors.delta.commit import commit_load
from executors.delta.effects import count_effect
from executors.delta.load_modes import LOAD_MODES
from executors.delta.plan import DeltaPlan
from executors.delta.staging import DeltaStagingArea
from executors.destinations.base import Access, Capabilities, DestinationHandler, Measures, Prepared, Reevaluation
from executors.destinations.delta.opening import DeltaTarget, fence_and_find_commits, open_delta, settle_all
from executors.destinations.delta.plan import (
    commit_of,
    files_of,
    hashes_of,
    plan_of,
    rejects_of,
    rewrites,
    schema_of,
    staged_rejects,
)
from executors.destinations.delta.rejected_rows import DeltaRejectedRows, replay_plan_of
from executors.destinations.postgres.staging import PostgresStagingArea, tables_of
from executors.destinations.rejected_rows import RejectedRowsHandler
from executors.load_record import LoadCommit, Loaded, LoadKind, RunRef
from executors.model import Connection, Destination, RunJob, SourceField, SourceState, StoreConnection
from executors.postgres import quarantine, staging
from executors.reading import Reading
from executors.report import CheckReport
from executors.runs.state import Load, LoadState, RunContext
from executors.runs.target_run import TargetRun
from executors.secrets import encrypt, encrypt_store
from executors.stage_plan import FILLED, plan_stage_columns
from executors.target_hooks import TargetHooks
from ir.load_modes import load_mode
from ir.nodes import Target
from ir.pipeline import Path


class DeltaDestination(DestinationHandler):
    """Loads Delta tables in a folder or bucket. A commit to the log of the table adds the files of a load together with
    its marker."""

    capabilities = Capabilities(
        load_modes=frozenset(LOAD_MODES),
        checks=True,
        no_checks=frozenset({"customSql", "fkIntegrity"}),
        previews=True,
        quarantine=True,
        rejected_rows=True,
    )
    filled_columns = frozenset(FILLED)

    # --- inspect ----------------------------------------------------------------------------------------------

    def open(self, context: RunContext, paths: tuple[Path, ...], access: Access) -> TargetRun:
        target = paths[0].target
        hooks = TargetHooks(context.job, context.ports, context.report, target)
        opened = open_delta(context, target, fences=access == "load")
        commit = settle_all(opened, target, context.run_ref(target)) if access == "load" else None
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

    def prepare_read_only(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> AbstractContextManager[Prepared]:
        """Only a commit creates a table."""
        return self.prepare(context, target, reading, fields)

    # --- stage ------------------------------------------------------------------------------------------------

    def create_staging(self, load: Load) -> None:
        """Create the tables for rejects. The first file of a task creates its folder."""
        if rejects := rejects_of(load):
            staging.create_staging(rejects.session, tables_of(load), ())

    def staging_area(self, load: Load) -> DeltaStagingArea:
        opened: DeltaTarget = load.connection
        rejects = opened.rejects
        return DeltaStagingArea(
            encrypt_store(opened.store),
            (load.target.schema_, load.target.table),
            files_of(load),
            schema_of(load),
            hashes_of(load),
            rewrites(load),
            PostgresStagingArea(tables_of(load), encrypt(rejects.connection)) if rejects else None,
        )

    def drop_staging(self, load: Load) -> None:
        """Delete the files of this attempt that are not part of the table. After a commit whose result is unknown, the
        next attempt deletes them, behind its fence."""
        opened: DeltaTarget = load.connection
        if opened.rejects:
            staging.drop_staging(opened.rejects.session, tables_of(load))
        log, files = opened.log, files_of(load)
        table = log.folder.open()
        marker = next(
            (one for one in (log.markers(table) if table else ()) if one.commit.token == load.ref.token), None
        )
        if marker is None and log.is_attempted(load.ref):
            return
        added = marker.added if marker else ()
        log.folder.delete(p for p in log.folder.list(load.ref.run_id) if files.is_added(p) and p not in added)
        log.folder.delete_folder(files.folder)

    # --- check ------------------------------------------------------------------------------------------------

    def probe_checks(self, state: LoadState) -> None:
        load = state.load
        adds_rows = load_mode(load.target.load_mode).adds_rows
        probe_checks(
            HANDLERS, StagedInDelta(load.columns, load.fields, load.dest, adds_rows, load.now), bound_checks(load.path)
        )

    def run_checks(self, state: LoadState) -> list[CheckReport]:
        load, target, bound = state.load, state.load.target, bound_checks(state.load.path)
        if not bound:
            return []
        opened: DeltaTarget = load.connection
        adds_rows = load_mode(target.load_mode).adds_rows
        with counting(_counted(state), opened.table, load.fields, load.dest, load.now, adds_rows=adds_rows) as staged:
            return [replace(report, target=target.id) for report in run_checks(HANDLERS, staged, bound)]

    def measure(self, state: LoadState) -> Measures:
        """Limits of NULL rates are part of holds, which this destination does not support."""
        opened: DeltaTarget = state.load.connection
        return count_effect(_counted(state), opened.table), {}

    # --- commit -----------------------------------------------------------------------------------------------

    def commit(
        self, state: LoadState, *, explains: bool = True, reevaluation: Reevaluation | None = None
    ) -> LoadCommit:
        plan, rejects = plan_of(state), rejects_of(state.load)
        if rejects is None:
            return commit_load(plan, partial(commit_of, state)).commit
        stored = rejects.store(plan.run, staged_rejects(state))
        marker = commit_load(plan, partial(commit_of, state, quarantined=stored))
        return rejects.settle(plan.run, marker, state.target.connection)

    # --- rejects ----------------------------------------------------------------------------------------------

    def probe_quarantine(self, load: Load) -> None:
        if rejects := rejects_of(load):
            rejects.probe(list(dict.fromkeys(load.quarantine.values())), load.target.id)

    def ready_quarantine(self, state: LoadState) -> None:
        rejects, nodes = rejects_of(state.load), {rule.node for rule in state.rules if rule.violations}
        for table in dict.fromkeys(table for node, table in state.load.quarantine.items() if node in nodes):
            if rejects:
                quarantine.ensure_quarantine(rejects.session, table)

    def keep_rejects(self, state: LoadState) -> tuple[int, int]:
        """Store the rejected rows of a failed load. If it has committed after all, the next attempt settles it."""
        load, rejects = state.load, rejects_of(state.load)
        if rejects is None:
            return 0, 0
        return quarantine.keep_rejects(
            rejects.session, load.ref, tables_of(load), state.result.winners, load.quarantine
        )

    def count_rejected_by_file(self, state: LoadState) -> Mapping[int, int]:
        rejects = rejects_of(state.load)
        if rejects is None:
            return {}
        return staging.count_rejected_by_file(rejects.session, tables_of(state.load), state.result.winners)

    def rejected_rows(self) -> RejectedRowsHandler:
        return DeltaRejectedRows()

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


def _counted(state: LoadState) -> DeltaPlan:
    """Return the plan of a load or of a replay, for counts before the commit."""
    return plan_of(state) if state.load.rejected is None else replay_plan_of(state)


def _commits(target: TargetRun) -> Iterator[LoadCommit]:
    """Yield the commits of earlier runs that loaded the source, the newest first. Replays read none of its files."""
    opened: DeltaTarget = target.connection
    return (marker.commit for marker in opened.markers if marker.commit.kind is LoadKind.LOAD)
