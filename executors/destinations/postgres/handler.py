"""PostgreSQL as a destination of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from executors.charsets import Charset
from executors.commit_report import add_warnings, change_warnings
from executors.destinations.base import (
    Access,
    BackfillTarget,
    Capabilities,
    DestinationHandler,
    Measures,
    Prepared,
    Reevaluation,
    SampledRow,
    Undo,
)
from executors.destinations.postgres import backfill
from executors.destinations.postgres.approved import require_as_staged
from executors.destinations.postgres.checks import TargetChecks
from executors.destinations.postgres.chunks import count_rows, find_cursor_sums
from executors.destinations.postgres.following import follow_for_rows, follow_sources
from executors.destinations.postgres.opening import key_of, open_target
from executors.destinations.postgres.plan import load_plan
from executors.destinations.postgres.rejected_rows import PostgresRejectedRows
from executors.destinations.postgres.staging import PostgresStagingArea, tables_of
from executors.destinations.postgres.tables import (
    columns_to_stage,
    existing_or_empty_table,
    ready_table,
    refuse_unloadable,
)
from executors.destinations.postgres.undo import open_undo
from executors.destinations.postgres.watermark import (
    bound_reading,
    open_incremental_range,
    skip_below_watermark,
    version_of,
    warnings_of,
)
from executors.destinations.rejected_rows import RejectedRowsHandler
from executors.errors import Terminal
from executors.load_record import LoadCommit, Loaded, RunRef
from executors.model import (
    BackfillMark,
    Connection,
    Destination,
    LoadedChunk,
    RunJob,
    SourceField,
    SourceState,
    StageColumn,
    StoreConnection,
    TaskCount,
)
from executors.postgres import meta, preview, quarantine, staging
from executors.postgres.checks import Staged
from executors.postgres.client import charset_of, translate
from executors.postgres.explain import explain
from executors.postgres.load import commit_load
from executors.postgres.load_modes import LOAD_MODES
from executors.postgres.load_plan import LoadPlan
from executors.postgres.quarantined import Owner
from executors.postgres.read import ReadSession
from executors.postgres.refused import refuse_rows
from executors.postgres.samples import keep_source_sample
from executors.postgres.staged_changes import stage_beside
from executors.postgres.trial import refuse_tried
from executors.reading import Reading
from executors.report import CheckReport
from executors.runs.target_run import TargetRun
from executors.secrets import encrypt
from executors.stage_plan import FILLED
from executors.target_database import commits
from ir.nodes import Target
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.runs.state import Load, LoadState, RunContext


_LOOK_SECONDS = 10


class PostgresDestination(DestinationHandler):
    """Loads tables of a PostgreSQL database. Staging tables, quarantine and commit markers are in the same database, so
    that one transaction can load the rows and record everything."""

    capabilities = Capabilities(
        load_modes=frozenset(LOAD_MODES),
        checks=True,
        hooks=True,
        previews=True,
        holds=True,
        quarantine=True,
        rejected_rows=True,
        samples=True,
        undo=True,
        unions=True,
        backfills=True,
    )
    filled_columns = frozenset(FILLED)

    # --- inspect ----------------------------------------------------------------------------------------------

    def open(self, context: RunContext, paths: tuple[Path, ...], access: Access) -> TargetRun:
        return open_target(self, context, paths, access)

    def find_table(self, target: TargetRun) -> Destination | None:
        return refuse_unloadable(target.connection, target.path.target)

    def fence_and_find_commits(
        self,
        target: Target,
        run: RunRef,
        connections: Mapping[str, Connection],
        stores: Mapping[str, StoreConnection],
    ) -> list[LoadCommit]:
        owner = Owner(run.tenant, run.pipeline)
        return commits.fence_and_find_commits(
            connections[target.connection], owner, target.id, run.run_id, run.token, run.chunk
        )

    # --- prepare ----------------------------------------------------------------------------------------------

    @contextmanager
    def prepare(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> Iterator[Prepared]:
        node = target.path.target
        rows_range = open_incremental_range(context, target.connection, node)
        add_warnings(context.report, warnings_of(rows_range, node))
        reading = bound_reading(reading, rows_range, target.path)
        follow = follow_sources(context, target, reading, fields)
        with ready_table(target.connection, node, fields, follow) as table:
            charset = charset_of(target.connection)
            yield Prepared(table.dest, table.columns, reading, rows_range, charset, table.changes)

    @contextmanager
    def prepare_read_only(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> Iterator[Prepared]:
        node = target.path.target
        tables = staging.staging_tables(context.job.run_id, node.id, context.job.attempt)
        follow = follow_sources(context, target, reading, fields)
        with existing_or_empty_table(target.connection, node, fields, tables, follow) as table:
            add_warnings(context.report, change_warnings(node.id, table.changes, is_planned=True))
            charset = charset_of(target.connection)
            yield Prepared(table.dest, table.columns, reading, charset=charset, changes=table.changes)

    def plan_columns(
        self, connection: Connection, path: Path, fields: tuple[SourceField, ...]
    ) -> tuple[tuple[StageColumn, ...], Charset]:
        target = path.target
        with ReadSession("of a preview", _LOOK_SECONDS).open(connection) as conn, translate(target.id):
            follow = follow_for_rows(path.source, fields)
            return columns_to_stage(conn, target, fields, follow), charset_of(conn)

    # --- stage ------------------------------------------------------------------------------------------------

    def create_staging(self, load: Load) -> None:
        staging.create_staging(load.connection, tables_of(load), load.columns)
        if load.reading.changes is not None:
            stage_beside(load.connection, tables_of(load), load.reading.changes)

    def staging_area(self, load: Load) -> PostgresStagingArea:
        return PostgresStagingArea(tables_of(load), encrypt(load.context.job.connections[load.target.connection]))

    def drop_staging(self, load: Load) -> None:
        staging.drop_staging(load.connection, tables_of(load))

    def skip_below_watermark(self, state: LoadState) -> LoadState:
        return skip_below_watermark(state)

    def watermark_version(self, state: LoadState) -> tuple[int, int] | None:
        return version_of(state.rows_range)

    def refuse_rows(self, state: LoadState) -> TaskCount | None:
        return refuse_rows(state.load.connection, load_plan(state), state.on_refused)

    def refuse_failing_rows(self, state: LoadState, failure: Terminal) -> TaskCount:
        plan = load_plan(state)
        refused = refuse_tried(state.load.connection, plan, failure)
        if refused is None:
            explain(state.load.connection, plan, failure)
            raise failure
        return refused

    def count_rejected_by_file(self, state: LoadState) -> Mapping[int, int]:
        return staging.count_rejected_by_file(state.load.connection, tables_of(state.load), state.result.winners)

    # --- check ------------------------------------------------------------------------------------------------

    def probe_checks(self, state: LoadState) -> None:
        checks = _checks_of(state.load)
        checks.probe(_staged_rows(state, checks))

    def run_checks(self, state: LoadState) -> list[CheckReport]:
        checks = _checks_of(state.load)
        return checks.run(_staged_rows(state, checks))

    def measure(self, state: LoadState) -> Measures:
        conn, plan = state.load.connection, load_plan(state)
        rates = preview.count_null_rates(conn, plan) if _compares_nulls(state.target) else {}
        return preview.count_effect(conn, plan), rates

    def refuse_repeats(self, state: LoadState) -> None:
        preview.refuse_repeats(state.load.connection, load_plan(state))

    # --- commit -----------------------------------------------------------------------------------------------

    def commit(
        self, state: LoadState, *, explains: bool = True, reevaluation: Reevaluation | None = None
    ) -> LoadCommit:
        conn, plan = state.load.connection, load_plan(state)

        def reevaluate(locked: LoadPlan) -> None:
            if reevaluation:
                compares = _compares_nulls(state.target)
                reevaluation(*preview.evaluate_locked(conn, locked, compares_nulls=compares))

        commit_load(conn, replace(plan, before_change=reevaluate), explains=explains)
        return meta.marker_of(conn, state.load.ref)

    def require_as_staged(self, state: LoadState) -> LoadState:
        return require_as_staged(state)

    def add_hook_done(self, target: TargetRun, commit: LoadCommit, hook: str) -> None:
        meta.add_hook_done(target.connection, commit.run_id, commit.node, hook)

    # --- rejects ----------------------------------------------------------------------------------------------

    def probe_quarantine(self, load: Load) -> None:
        for table in dict.fromkeys(load.quarantine.values()):
            quarantine.probe_quarantine(load.connection, table)

    def ready_quarantine(self, state: LoadState) -> None:
        nodes = {rule.node for rule in state.rules if rule.violations}
        for table in dict.fromkeys(table for node, table in state.load.quarantine.items() if node in nodes):
            quarantine.ensure_quarantine(state.load.connection, table)

    def keep_rejects(self, state: LoadState) -> tuple[int, int]:
        load = state.load
        return quarantine.keep_rejects(
            load.connection, load.ref, tables_of(load), state.result.winners, load.quarantine
        )

    def rejected_rows(self) -> RejectedRowsHandler:
        return PostgresRejectedRows()

    def keep_sample(self, run: RunRef, target: TargetRun, rows: Sequence[SampledRow], types: Mapping[str, str]) -> None:
        with translate(run.node):
            keep_source_sample(target.connection, run, rows, types)

    # --- backfills --------------------------------------------------------------------------------------------

    def open_backfill(self, context: RunContext, target: TargetRun, *, is_rewind: bool) -> BackfillTarget:
        return backfill.open_backfill(context, target, is_rewind=is_rewind)

    def find_cursor_sums(self, target: TargetRun, chunks: Sequence[LoadedChunk]) -> Mapping[int, int]:
        return find_cursor_sums(target.connection, target.path.target.id, chunks)

    def count_rows(self, target: TargetRun, chunks: Sequence[LoadedChunk]) -> tuple[int, int]:
        return count_rows(target.connection, target.path.target, chunks)

    def finish_backfill(
        self, context: RunContext, target: TargetRun, mark: BackfillMark, state: SourceState | None
    ) -> LoadCommit:
        return backfill.finish_backfill(context, target, mark, state)

    # --- undo -------------------------------------------------------------------------------------------------

    def open_undo(self, job: RunJob, run: RunRef, target: Target) -> AbstractContextManager[Undo]:
        return open_undo(job, run, target)

    # --- trace ------------------------------------------------------------------------------------------------

    def find_loaded(self, job: RunJob, target: TargetRun, source: str, hashes: Collection[str]) -> Mapping[str, Loaded]:
        node = target.path.target
        others = [other.id for other in job.pipeline.targets() if other.id != node.id]
        key, table = key_of(job, target), (node.schema_, node.table)
        other_sources = [other.id for other in target.sources if other.id != source]
        return meta.files_loaded(
            target.connection, *key, hashes, others=others, table=table, other_sources=other_sources
        )

    def find_last_files(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, Collection[str]] | None:
        return meta.last_files(target.connection, *key_of(job, target), source if target.is_united else None)

    def find_state(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, SourceState] | None:
        node = target.path.target
        return meta.last_state(target.connection, *key_of(job, target), source, (node.schema_, node.table))

    def find_loaded_elsewhere(self, job: RunJob, target: TargetRun) -> str | None:
        node = target.path.target
        return meta.last_loaded_elsewhere(target.connection, *key_of(job, target), node.schema_, node.table)


def _checks_of(load: Load) -> TargetChecks:
    return TargetChecks(load.context.job, load.path, load.connection, load.now, load.hooks.interruption)


def _staged_rows(state: LoadState, checks: TargetChecks) -> Staged:
    """Return the staged rows in the form that checks read."""
    load = state.load
    return checks.staged_rows(tables_of(load), load.fields, load.dest, load.columns, state.result.winners)


def _compares_nulls(target: Target) -> bool:
    return target.hold is not None and target.hold.max_null_rate_increase_pct is not None
