"""The destination `jsonl`, which appends."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath

from executors import accounting
from executors.destinations.base import Access, Capabilities, DestinationHandler, Prepared, Reevaluation
from executors.load_record import InputCounts, LoadCommit, LoadCounts, Loaded, LoadRecord, TableIdentity
from executors.model import Destination, DestinationColumn, RunJob, SourceField, StageColumn
from executors.reading import Reading
from executors.runs.state import Load, LoadState, RunContext
from executors.runs.target_run import TargetRun
from executors.target_hooks import TargetHooks
from ir.pipeline import Path
from tests.destinations.jsonl.staging import JsonlStagingArea
from tests.destinations.jsonl.store import JsonlTable


class JsonlDestination(DestinationHandler):
    capabilities = Capabilities(load_modes=frozenset({"append"}))

    def open(self, context: RunContext, paths: tuple[Path, ...], access: Access) -> TargetRun:
        target = paths[0].target
        table = JsonlTable.of(context.job, target)
        hooks = TargetHooks(context.job, context.ports, context.report, target)
        table_exists = table.folder.exists()
        table.raise_fence(context.job.token)
        commit = table.find_commit(context.run_ref(target))
        return TargetRun(self, paths, table, hooks, commit, table_exists)

    def find_table(self, target: TargetRun) -> Destination | None:
        node = target.path.target
        return Destination(node.schema_, node.table, ()) if target.table_exists else None

    @contextmanager
    def prepare(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> Iterator[Prepared]:
        node = target.path.target
        columns = tuple(DestinationColumn(field.name, field.type, str(field.type)) for field in fields)
        staged = tuple(StageColumn(field.name, field.type) for field in fields)
        yield Prepared(Destination(node.schema_, node.table, columns), staged, reading)

    def create_staging(self, load: Load) -> None:
        _staging_folder(load).mkdir(parents=True)

    def staging_area(self, load: Load) -> JsonlStagingArea:
        return JsonlStagingArea(_staging_folder(load))

    def drop_staging(self, load: Load) -> None:
        shutil.rmtree(_staging_folder(load), ignore_errors=True)

    def commit(
        self, state: LoadState, *, explains: bool = True, reevaluation: Reevaluation | None = None
    ) -> LoadCommit:
        load = state.load
        table: JsonlTable = load.connection
        if committed := table.find_commit(load.ref):
            return committed
        lines = self.staging_area(load).lines(state.result.winners)
        commit = _commit_of(state, len(lines))
        table.add(commit, lines)
        return commit

    def find_loaded(self, job: RunJob, target: TargetRun, source: str, hashes: Collection[str]) -> Mapping[str, Loaded]:
        found: dict[str, Loaded] = {}
        for marker in target.connection.commits():
            for sha256 in marker["files"]:
                found[sha256] = Loaded(marker["token"], marker["node"])
        return {sha256: loaded for sha256, loaded in found.items() if sha256 in hashes}

    def find_last_files(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, Collection[str]] | None:
        markers = list(target.connection.commits())
        return (markers[-1]["token"], markers[-1]["files"]) if markers else None

    def find_loaded_elsewhere(self, job: RunJob, target: TargetRun) -> str | None:
        return None


def _staging_folder(load: Load) -> FilePath:
    folder: FilePath = load.connection.folder / "staging" / f"{load.ref.run_id}-{load.staged_in}"
    return folder


def _commit_of(state: LoadState, rows: int) -> LoadCommit:
    """The marker, which the report is filled from."""
    load, target = state.load, state.target
    return LoadCommit(
        load.ref.run_id,
        load.ref.node,
        load.ref.attempt,
        TableIdentity(target.schema_, target.table, None),
        token=load.ref.token,
        load_mode=target.load_mode,
        counts=LoadCounts(staged=rows, inserted=rows),
        record=LoadRecord(
            input=InputCounts(**state.node_counts),
            nodes=tuple(accounting.reports_of(load.paths, state.rows_read, state.result)),
            rules=state.rules,
        ),
        files_done=load.reading.units,
    )
