"""The order of a run: fence, take files in, and for each target one pass, checks, guard and one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from executors.destination import refuse_unloadable
from executors.errors import Failure, LeaseLost, Terminal, Transient
from executors.intake import FileIntake, Intake
from executors.markers import add_warnings, tell
from executors.model import FileScan, LoadCommit, NodeReport, RunJob, RunReport, RunWarning, SourceFile
from executors.ports import Ports
from executors.postgres import meta
from executors.postgres.client import connect, interrupt
from executors.postgres.ddl import Conn
from executors.reading import read_files
from executors.spark.scan import scan_files
from executors.spark.session import RunSession
from executors.target_load import TargetLoad
from ir.load_modes import load_mode
from ir.nodes import Source, Target
from ir.pipeline import Path


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


@dataclass(slots=True)
class Lane:
    """One target of the run: its way from the source and the connection that loads it.

    `commit` is what an earlier attempt of this run has committed.
    """

    path: Path
    connection: Conn
    commit: LoadCommit | None = None
    table_exists: bool = False
    done: bool = False
    nothing_new: bool = False


class PipelineRun:
    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack) -> None:
        self.job, self.ports, self.report = job, ports, RunReport()
        self.lanes: list[Lane] = []
        self._stack = stack
        self._session = stack.enter_context(RunSession())
        self._intake = FileIntake(job, ports, self._scan)

    # --- before anything is read ------------------------------------------------------------------------------

    def start(self) -> None:
        """Fence every target, look for what an earlier attempt has committed, and refuse what cannot be loaded."""
        self.ports.events.step("start")
        self.ports.cancellation.on_cancel(self._interrupt)
        for target in self.job.pipeline.targets():
            name = f"flow run {self.job.run_id}"
            connection = connect(self.job.connections[target.connection], autocommit=True, application_name=name)
            lane = Lane(self.job.pipeline.path_to(target), self._stack.enter_context(connection))
            self.lanes.append(lane)
            self._prepare(lane)
        self.ports.cancellation.on_cancel(self._interrupt)

    def _prepare(self, lane: Lane) -> None:
        target, connection = lane.path.target, lane.connection
        meta.ensure_meta(connection)
        meta.raise_fence(connection, *self._key(target), self.job.token)
        commits = meta.find_commits(connection, self.job.run_id)
        lane.commit = next((commit for commit in commits if commit.node == target.id), None)
        self._refuse_older_state(lane)
        lane.table_exists = refuse_unloadable(connection, target) is not None

    def _key(self, target: Target) -> tuple[str, str, str]:
        return self.job.tenant, self.job.pipeline.id, target.id

    def _refuse_older_state(self, lane: Lane) -> None:
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
            with suppress(Failure):
                interrupt(lane.connection)

    def _scan(self, source: Source, files: Sequence[SourceFile]) -> list[FileScan]:
        return scan_files(self._session, source, files)

    # --- one target -------------------------------------------------------------------------------------------

    def load(self, lane: Lane) -> None:
        """Load one target, unless an earlier attempt of this run has done so."""
        if lane.commit:
            self._finish_committed(lane, lane.commit)
            return
        intake = self._open(lane)
        add_warnings(self.report, intake.warnings)
        if scans := self._files_to_load(lane, intake):
            self._intake.want(intake, scans)
            reading = read_files(intake.source, scans)
            load = TargetLoad(self.job, self.ports, self.report, self._session, lane.path, lane.connection, reading)
            started = time.monotonic()
            self._tell(load.run(), int((time.monotonic() - started) * 1000))
        else:
            self._tell_nothing_new(lane, intake)
        lane.done = True

    def _open(self, lane: Lane) -> Intake:
        """The files of the lane's source: those that its other targets have read, if an earlier attempt loaded some."""
        intake = self._intake.open(lane.path.source)
        for other in self._lanes_of(intake.source):
            if other.commit:
                self._intake.keep(intake, self._held_by(other, other.commit, intake))
        return intake

    def _held_by(self, lane: Lane, commit: LoadCommit, intake: Intake) -> set[str]:
        held, target = set(commit.files_done), lane.path.target
        if missing := held - set(intake.hashes):
            raise Transient(
                "source.changed",
                f"{len(missing)} files that an earlier attempt loaded into {target.id} are gone or changed, so the "
                "other targets cannot get the same.",
                node=intake.source.id,
                hint="Put them back, or start a new run.",
            )
        if load_mode(target.load_mode).replaces_all_rows:
            return held
        return held | self._loaded(lane, intake).keys()

    def _lanes_of(self, source: Source) -> list[Lane]:
        return [lane for lane in self.lanes if lane.path.source.id == source.id]

    def _files_to_load(self, lane: Lane, intake: Intake) -> list[FileScan]:
        """The files that this target has not loaded yet; all of them or none for modes that replace all rows."""
        key = self._key(lane.path.target)
        forgotten = self.ports.units.forgotten(intake.hashes)
        if load_mode(lane.path.target.load_mode).replaces_all_rows:
            last = meta.last_files(lane.connection, *key)
            if last is None or last[1] != set(intake.hashes) or not lane.table_exists or self._loaded_elsewhere(lane):
                return intake.scans
            return [] if all(last[0] > token for token in forgotten.values()) else intake.scans
        loaded = self._loaded(lane, intake)
        known = {sha256: by.node for sha256, by in loaded.items() if by.token > forgotten.get(sha256, -1)}
        if known and not lane.table_exists:
            raise _table_gone(lane.path.target, len(known))
        if known and (other := self._loaded_elsewhere(lane)):
            raise _table_changed(lane.path.target, other, len(known))
        self._warn_of_renamed(lane, [node for node in known.values() if node != lane.path.target.id])
        return [scan for scan in intake.scans if scan.sha256 not in known]

    def _loaded(self, lane: Lane, intake: Intake) -> dict[str, meta.Loaded]:
        target = lane.path.target
        others = [other.id for other in self.job.pipeline.targets() if other.id != target.id]
        table = target.schema_, target.table
        return meta.files_loaded(lane.connection, *self._key(target), intake.hashes, others=others, table=table)

    def _warn_of_renamed(self, lane: Lane, nodes: Sequence[str]) -> None:
        """Until the target has loaded something itself: who gave the node another task wants to hear of it."""
        if nodes and meta.last_files(lane.connection, *self._key(lane.path.target)) is None:
            add_warnings(self.report, [_renamed(lane.path.target, nodes)])

    def _loaded_elsewhere(self, lane: Lane) -> str | None:
        target = lane.path.target
        return meta.last_loaded_elsewhere(lane.connection, *self._key(target), target.schema_, target.table)

    def _tell_nothing_new(self, lane: Lane, intake: Intake) -> None:
        target = lane.path.target
        lane.nothing_new = True
        text = "No file came." if intake.missed else f"All {len(intake.scans):,} matching files are already loaded."
        self.ports.events.log("info", f"Nothing new for {target.id}. {text}", target.id)
        self.report.nodes.append(NodeReport.nothing(target.id))
        self.ports.events.node_finished(self.report.nodes[-1])

    def _finish_committed(self, lane: Lane, commit: LoadCommit) -> None:
        """An earlier attempt committed this target: take its numbers from the marker and read nothing."""
        self._tell(commit)
        self.ports.events.log("info", f"Attempt {commit.attempt} had already loaded this target.", commit.node)
        lane.done = True

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
        self._put_away_loaded()

    def _put_away_loaded(self) -> None:
        """Put away the files of those sources of which every target has been loaded."""
        for source in self._sources():
            lanes = self._lanes_of(source)
            if all(lane.done for lane in lanes):
                commits = [set(lane.commit.files_done) for lane in lanes if lane.commit]
                if len(commits) == len(lanes):
                    self._intake.put_away_unopened(source, set.intersection(*commits))
                self._intake.put_away(source, loaded=True)

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
        """Put away what was loaded, and what would only fail again. All else stays claimed: the next attempt, or the
        next run, takes it up. A worker that lost its lease touches nothing: another one owns the run."""
        if isinstance(cause, LeaseLost):
            return
        try:
            self._put_away_loaded()
            if isinstance(cause, Terminal) and (lane := next((lane for lane in self.lanes if not lane.done), None)):
                self._intake.put_away(lane.path.source, loaded=False, reason=cause.message)
        except LeaseLost:
            raise
        except Failure as trouble:
            self.ports.events.log("warning", f"Files were not put away: {trouble.message}")


def _renamed(target: Target, nodes: Sequence[str]) -> RunWarning:
    return RunWarning(
        "target.renamed",
        target.id,
        f"{len(nodes):,} files count as loaded: {' and '.join(sorted(set(nodes)))}, which this pipeline no longer has, "
        f"loaded them into {target.schema_}.{target.table}. If this target is to load them too, load again with a "
        "reason.",
    )


def _table_changed(target: Target, other: str, files: int) -> Terminal:
    return Terminal(
        "target.table_changed",
        f"This target loads {target.schema_}.{target.table} now, but {files:,} of the files were loaded into {other}.",
        node=target.id,
        hint="Load again, with a reason, to fill the new table with all files; or name the old table.",
    )


def _table_gone(target: Target, files: int) -> Terminal:
    return Terminal(
        "target.table_gone",
        f"{target.schema_}.{target.table} does not exist, though {files:,} of the files count as loaded by this "
        "target: the table was dropped or renamed, or the target names another one now.",
        node=target.id,
        hint="Load again, with a reason, to fill a new table with all files; or bring the table back.",
    )
