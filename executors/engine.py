"""The order of a run: fence, take files in, and for each target one pass, checks, guard and one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from typing import TypeVar

from executors.approved_load import ApprovedLoad
from executors.columnless import ColumnlessLoad, blank_warning, names_no_column, with_columns_of, without_columns
from executors.destination import refuse_unloadable
from executors.errors import Failure, InvalidContent, LeaseLost, Terminal, Transient
from executors.formats.files import FileStore
from executors.holding import Held
from executors.markers import add_warnings, put_share, tell
from executors.model import FileScan, LoadCommit, NodeReport, RunJob, RunReport, Share, SourceFile
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import connect, interrupt
from executors.postgres.fences import raise_fence
from executors.postgres.names import TableName
from executors.postgres.table_lock import refuse_busy
from executors.reading import Reading
from executors.runs.target_run import TargetRun
from executors.sources.file_reader import FileSourceReader
from executors.sources.readers import SourceReader, SourceReaders
from executors.sources.snapshot_reader import SnapshotSourceReader
from executors.spark.scan import scan_files
from executors.spark.session import RunSession
from executors.target_hooks import TargetHooks
from executors.target_load import TargetLoad
from ir.nodes import Source, Target
from ir.pipeline import Path

T = TypeVar("T", bound=TargetLoad)


def run_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """Run one attempt to its end.

    Returns what was done; raises the `Failure` that ended it, whose `report` holds what is known until then.
    """
    return carry_out(PipelineRun, job, ports)


def carry_out(kind: type[PipelineRun], job: RunJob, ports: Ports) -> RunReport:
    """One attempt of a kind of run, as `run_pipeline` says."""
    with ExitStack() as stack:
        run = kind(job, ports, stack)
        try:
            run.start()
            for lane in run.lanes:
                run.load(lane)
            run.finish()
        except Failure as failure:
            cause = run.cause_of(failure)
            run.give_up(cause)
            cause.report = run.report
            if cause is failure:
                raise
            raise cause from failure
    return run.report


class PipelineRun:
    """One attempt."""

    nothing_words = "Nothing new for"
    only_looks = False
    """Whether it shows rows that it does not load."""

    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack) -> None:
        self.job, self.ports, self.report = job, ports, RunReport()
        self.lanes: list[TargetRun] = []
        self._stack = stack
        self._session = stack.enter_context(RunSession())
        files = FileSourceReader(job, ports, self._scan, only_looks=self.only_looks)
        snapshots = SnapshotSourceReader(job, ports, stack, only_looks=self.only_looks)
        self._source_reader: SourceReader = SourceReaders(files, snapshots)

    # --- before anything is read ------------------------------------------------------------------------------

    def start(self) -> None:
        """Fence every target, look for what an earlier attempt has committed, and refuse what cannot be loaded."""
        self.ports.events.step("start")
        self.ports.cancellation.on_cancel(self._interrupt)
        for target in self._targets():
            name = f"flow run {self.job.run_id}"
            connection = connect(self.job.connections[target.connection], autocommit=True, application_name=name)
            hooks = TargetHooks(self.job, self.ports, self.report, target)
            lane = TargetRun(self._path_to(target), self._stack.enter_context(connection), hooks)
            self.lanes.append(lane)
            self._prepare(lane)

    def _targets(self) -> Iterable[Target]:
        """The targets that take part."""
        return self.job.pipeline.targets()

    def _path_to(self, target: Target) -> Path:
        return self.job.pipeline.path_to(target)

    def _prepare(self, lane: TargetRun) -> None:
        target, connection = lane.path.target, lane.connection
        meta.ensure_meta(connection)
        raise_fence(connection, *self._key(target), self.job.token)
        commits = meta.find_commits(connection, self.job.run_id)
        lane.commit = next((commit for commit in commits if commit.node == target.id), None)
        if lane.commit is None:
            refuse_busy(connection, TableName(target.schema_, target.table), target.id)
        self._refuse_older_state(lane)
        self._look(lane)

    def _look(self, lane: TargetRun) -> None:
        """Refuse what cannot be loaded, and tell in which way the rows of a table will be replaced."""
        target = lane.path.target
        dest = refuse_unloadable(lane.connection, target)
        lane.table_exists = dest is not None
        if dest and dest.replacing:
            self.ports.events.log("info", dest.replacing.sentence(f"{dest.schema}.{dest.table}"), target.id)

    def _key(self, target: Target) -> tuple[str, str, str]:
        return self.job.tenant, self.job.pipeline.id, target.id

    def _refuse_older_state(self, lane: TargetRun) -> None:
        target = lane.path.target
        known = self.ports.last_commit(target.id)
        if known and not meta.last_commit_exists(lane.connection, *self._key(target), known):
            raise Terminal(
                "target.went_back",
                f"{target.schema_}.{target.table} no longer holds the load of run {known}: the database was restored "
                "or failed over to an older state.",
                node=target.id,
                hint="Compare the table with its source, then load what is missing again, with a reason.",
            )

    def _interrupt(self) -> None:
        """Whatever cannot be reached has ended already, and keeps nobody from interrupting the others."""
        with suppress(Failure):
            self._session.interrupt()
        for lane in self.lanes:
            lane.hooks.interrupt()
            with suppress(Failure):
                interrupt(lane.connection)
        with suppress(Failure):
            self._source_reader.interrupt()

    def _scan(self, source: Source, files: Sequence[SourceFile], store: FileStore) -> list[FileScan]:
        return scan_files(self._session, source, files, store)

    # --- one target -------------------------------------------------------------------------------------------

    def load(self, lane: TargetRun) -> None:
        """Load one target, unless an earlier attempt of this run has done so."""
        if lane.commit:
            self._finish_committed(lane, lane.commit)
            return
        started = time.monotonic()
        commit = self._load_approved(lane) or self._load_read(lane)
        if commit:
            self._tell(commit, int((time.monotonic() - started) * 1000))
            lane.done = True
            lane.hooks.after_load(lane.connection, commit)
        else:
            self._tell_nothing_new(lane)
            lane.done = True

    def _load_read(self, lane: TargetRun) -> LoadCommit | None:
        """Read what is new for the target and load it; None if nothing is."""
        reading = self._read(lane)
        if reading and names_no_column(reading):
            return self._load_columnless(without_columns(lane), reading)
        return self._target(TargetLoad, lane, reading).run() if reading else None

    def _load_columnless(self, lane: TargetRun, reading: Reading) -> LoadCommit | None:
        """Blank files load no row, into a table that is there; other records without a field fail."""
        if not reading.is_blank:
            return self._target(ColumnlessLoad, lane, reading).run()
        add_warnings(self.report, [blank_warning(lane.path.source.id, reading)])
        table = refuse_unloadable(lane.connection, lane.path.target)
        return self._target(TargetLoad, lane, with_columns_of(reading, table)).run() if table else None

    def _load_approved(self, lane: TargetRun) -> LoadCommit | None:
        """Load what a person has approved, if that still stands in staging; else it is to be read and judged again."""
        kept = self.job.approved.get(lane.path.target.id)
        if kept is None:
            return None
        try:
            lane.commit = ApprovedLoad(self.job, self.ports, self.report, self._session, lane, kept).run()
        except Transient as failure:
            if failure.code != "staging.lost":
                raise
            text = f"{failure.message} The source is read again, and what comes of it is judged again."
            self.ports.events.log("warning", text, lane.path.target.id)
        return lane.commit

    def _target(self, kind: type[T], lane: TargetRun, reading: Reading) -> T:
        """The load of one target, or what stands in for it."""
        return kind(self.job, self.ports, self.report, self._session, lane.path, lane.connection, reading, lane.hooks)

    def _read(self, lane: TargetRun) -> Reading | None:
        """What the target is to load; None if nothing is new."""
        source = lane.path.source
        reading = self._source_reader.read(lane, self._lanes_of(source))
        add_warnings(self.report, self._source_reader.warnings_of(source))
        return reading

    def _lanes_of(self, source: Source) -> list[TargetRun]:
        return [lane for lane in self.lanes if lane.path.source.id == source.id]

    def _tell_nothing_new(self, lane: TargetRun) -> None:
        target = lane.path.target
        lane.nothing_new = True
        blank = next((w.message for w in self.report.warnings if w.code == "source.blank"), None)
        text = self.report.nothing_new_reason = blank or self._source_reader.nothing_new(lane.path.source)
        self.ports.events.log("info", f"{self.nothing_words} {target.id}. {text}", target.id)
        nothing = NodeReport.nothing(target.id)
        put_share(self.report, target.id, Share(nodes=[nothing]))
        self.ports.events.node_finished(nothing)

    def _finish_committed(self, lane: TargetRun, commit: LoadCommit) -> None:
        """An earlier attempt committed this target: take its numbers from the marker and read nothing."""
        self._tell(commit)
        self.ports.events.log("info", f"Attempt {commit.attempt} had already loaded this target.", commit.node)
        lane.done = True
        lane.hooks.after_load(lane.connection, commit)

    def _tell(self, commit: LoadCommit, milliseconds: int = 0) -> None:
        self.ports.events.committed(commit)
        new = tell(self.report, commit)
        new[-1].duration_ms = milliseconds
        for node in new:
            self.ports.events.node_finished(node)

    # --- the end ----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        self.ports.events.step("finish")
        self.report.nothing_new = all(lane.nothing_new for lane in self.lanes)
        self._archive_loaded()

    def _archive_loaded(self) -> None:
        """Archive what came from those sources of which every target has been loaded."""
        for source in self._sources():
            lanes = self._lanes_of(source)
            if all(lane.done for lane in lanes):
                self._source_reader.archive_loaded(source, lanes)

    def _sources(self) -> Iterable[Source]:
        return {lane.path.source.id: lane.path.source for lane in self.lanes}.values()

    def cause_of(self, failure: Failure) -> Failure:
        """Why the run really ends: what was interrupted fails with errors of its own."""
        try:
            self.ports.cancellation.check()
        except Failure as cause:
            return cause
        return failure

    def give_up(self, cause: Failure) -> None:
        """Archive what was loaded, and what would only fail again. All else goes back to where it was: the next
        attempt, or the next run, takes it up. What a held load has read stays claimed, and so does what some of its
        targets have loaded. A worker that lost its lease touches nothing: another one owns the run."""
        if isinstance(cause, LeaseLost):
            return
        try:
            self._archive_loaded()
            lane = next((lane for lane in self.lanes if not lane.done), None)
            if lane and isinstance(cause, InvalidContent):
                self._source_reader.archive_failed(lane.path.source, cause.message)
            if not isinstance(cause, Held):
                self._requeue()
        except LeaseLost:
            raise
        except Failure as trouble:
            self.ports.events.log("warning", f"Files were not put away: {trouble.message}")

    def _requeue(self) -> None:
        for source in self._sources():
            if not any(lane.done for lane in self._lanes_of(source)):
                self._source_reader.requeue(source)
