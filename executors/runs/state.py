"""The frozen states that the steps of a run take and return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from executors.charsets import UTF8, Charset
from executors.destinations.base import DestinationHandler
from executors.effects import Effect
from executors.errors import ExpressionFailed, Terminal
from executors.holding import StagedLoad
from executors.load_record import NONE_SKIPPED, LoadCommit, RunRef, SkippedRows
from executors.model import (
    Destination,
    PassResult,
    RowsRef,
    RuleCount,
    RunJob,
    SourceField,
    StageColumn,
    branch_key,
)
from executors.ports import Ports
from executors.reading import Reading
from executors.report import CheckReport, RunReport
from executors.runs.interrupts import Interrupts
from executors.runs.target_run import TargetRun
from executors.schema_changes import SchemaChange
from executors.target_hooks import TargetHooks
from ir.load_modes import load_mode
from ir.nodes import Source, Target
from ir.nodes.branch import taken_of
from ir.nodes.target import OnTypeMismatch
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.rejected_rows import Choice
    from executors.sources.readers import SourceReader
    from executors.sources.reference_reader import ReferenceReader
    from executors.spark.compiled import Compiled
    from executors.spark.session import RunSession


NOTHING_COUNTED = PassResult(())


@dataclass(frozen=True, slots=True)
class RunContext:
    """The context that all steps of an attempt share. The report is filled during the run, so that a failure can
    include it. Resources on the `stack` are closed at the end of the attempt."""

    job: RunJob
    ports: Ports
    report: RunReport
    session: RunSession
    source_reader: SourceReader
    references: ReferenceReader
    interrupts: Interrupts
    stack: ExitStack

    def run_ref(self, target: Target) -> RunRef:
        job = self.job
        chunk = job.chunk.key if job.chunk else ""
        return RunRef(job.run_id, job.tenant, job.pipeline.id, target.id, job.attempt, job.token, chunk, job.is_window)

    def log(self, message: str, target: Target) -> None:
        self.ports.events.log("info", message, target.id)


@dataclass(frozen=True, slots=True)
class Run:
    """An attempt and its opened targets."""

    context: RunContext
    targets: tuple[TargetRun, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple({source.id: source for target in self.targets for source in target.sources}.values())

    def targets_of(self, source: Source) -> tuple[TargetRun, ...]:
        return tuple(target for target in self.targets if source.id in (one.id for one in target.sources))

    def paths_after(self, target: TargetRun) -> list[Path]:
        """Return the paths of the targets that are loaded after this one."""
        node = target.path.target.id
        left = (other for other in self.targets if not other.is_done and other.commit is None)
        return [path for other in left if other.path.target.id != node for path in other.paths]

    def with_target(self, changed: TargetRun) -> Run:
        node = changed.path.target.id
        return replace(self, targets=tuple(changed if t.path.target.id == node else t for t in self.targets))


Inputs = Sequence[tuple[Path, Reading]]
"""The paths of a target that have rows to read, each with its reading. The positions of origins differ."""


@dataclass(frozen=True, slots=True)
class Head:
    """What one job of a pass reads: a path and its reading, compiled. Several heads stage into the same tables."""

    path: Path
    reading: Reading
    compiled: Compiled


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rejected rows that a run works on: the requested rows, those that can be loaded, and the target as the document
    defines it. A load appends them, whatever the target's load mode.
    """

    ref: RowsRef
    choice: Choice
    target: Target

    @property
    def keeps_watermark(self) -> bool:
        return load_mode(self.target.load_mode).keeps_watermark

    @property
    def may_replace(self) -> frozenset[tuple[int, int]]:
        """The positions of the rows that may replace others."""
        return frozenset(
            position for position, chosen in self.choice.rows.items() if chosen.row.name in self.ref.overwrite
        )


@dataclass(frozen=True, slots=True)
class Load:
    """The data of a load that does not change while one target is loaded.

    `fields` are the columns of the pipeline's rows, `columns` those of staging, which the attempt `staged_in` creates.
    `quarantine` maps nodes to the table that stores their rejected rows. The load fails if at least `max_rejected_pct`
    percent of rows are rejected; 0 means never. `now` is the run's clock. `approved` is the staged load of an earlier
    attempt that a person has approved, `rejected` are the rows of a replay. `paths` are all paths to the target,
    `heads` those with rows to read; `reading` is what they read together. `dest` is the table after the `changes` of
    its columns, which the load makes when it commits.
    """

    context: RunContext
    paths: tuple[Path, ...]
    handler: DestinationHandler
    connection: Any
    hooks: TargetHooks
    reading: Reading
    ref: RunRef
    staged_in: int
    dest: Destination
    fields: tuple[SourceField, ...]
    columns: tuple[StageColumn, ...]
    quarantine: Mapping[str, str]
    max_rejected_pct: float
    now: datetime
    charset: Charset = UTF8
    heads: tuple[Head, ...] = ()
    approved: StagedLoad | None = None
    rejected: RejectedRows | None = None
    changes: tuple[SchemaChange, ...] = ()

    @property
    def path(self) -> Path:
        """The first path. All paths have the same validate nodes and the same target."""
        return self.paths[0]

    @property
    def target(self) -> Target:
        return self.path.target

    @property
    def is_united(self) -> bool:
        """Whether the rows of several sources are loaded together."""
        return len(self.paths) > 1

    @property
    def is_exploded(self) -> bool:
        """Whether a record can have several rows."""
        return any(path.explode is not None for path in self.paths)

    @property
    def report(self) -> RunReport:
        return self.context.report

    @property
    def rejected_rows(self) -> RejectedRows:
        """The rows of a replay. Raises LookupError in other loads."""
        if self.rejected is None:
            raise LookupError("this load is not one of rejected rows")
        return self.rejected


@dataclass(frozen=True, slots=True)
class LoadState:
    """The progress of the load of one target.

    `rows_read`, `result` and `rules` are the counts of the pass, including rows that the table refused since.
    `rows_range` belongs to the handler and says where an incremental load begins; `skipped` counts the staged rows that
    it does not load. `expression_failure` and `load_failure` are failures that a later action raises or resolves. For
    rejected rows, `conflicts` are the rows of the table with the same keys, and `range_to_leave` is the range that
    their load must not move. A load ends with a `commit`, a preview with an `effect`.
    """

    load: Load
    rows_range: Any = None
    has_staging: bool = False
    rows_read: int = 0
    result: PassResult = NOTHING_COUNTED
    rules: tuple[RuleCount, ...] = ()
    skipped: SkippedRows = NONE_SKIPPED
    check_reports: tuple[CheckReport, ...] = ()
    expression_failure: ExpressionFailed | None = None
    load_failure: Terminal | None = None
    conflicts: Mapping[tuple[int, int], Mapping[str, Any]] = field(default_factory=dict)
    range_to_leave: Any = None
    commit: LoadCommit | None = None
    effect: Effect | None = None

    @property
    def target(self) -> Target:
        return self.load.path.target

    @property
    def committed(self) -> LoadCommit:
        """The commit. Raises LookupError before the last step of the load."""
        if self.commit is None:
            raise LookupError(f"{self.target.id} is not loaded yet")
        return self.commit

    @property
    def rows_rejected(self) -> int:
        return self.result.total("rows_rejected")

    @property
    def rows_filtered(self) -> int:
        return self.result.at_nodes("filtered_at").total()

    @property
    def rows_elsewhere(self) -> int:
        """The rows that go to other branches."""
        return self.result.at_nodes("elsewhere_at").total()

    @property
    def rows_grouped(self) -> int:
        """The rows that went into groups, less one for each group."""
        return self.result.at_nodes("grouped_at").total()

    @property
    def rows_unfiltered(self) -> int:
        return self.rows_read + self.rows_exploded - self.rows_filtered

    @property
    def rows_exploded(self) -> int:
        """The number of exploded rows minus the number of their records."""
        return self.result.total("rows_exploded")

    @property
    def on_refused(self) -> OnTypeMismatch:
        """What happens to rows that the table refuses. An exploded row is rejected together with its record, which is
        not in staging, except in a replay."""
        is_first_load = self.load.is_exploded and self.load.rejected is None
        return "abort" if is_first_load else self.target.on_type_mismatch

    @property
    def rejected_shares(self) -> tuple[tuple[int, int], ...]:
        """Pairs of numbers of rows, (rejected, total). The first pair counts rows rejected before the branch or the
        aggregate, among all rows, because they belong to no branch or group yet, also those that are stored on the
        path of the first branch. The second counts rows rejected later, among the rows of the target's own branch, or
        among the groups."""
        before = self._rejected_before if self.rows_elsewhere or self.rows_grouped else 0
        # A rejected record is one row, and is compared with records where others make several rows.
        rows = min(self.rows_unfiltered, self.rows_read)
        own = rows - self.rows_elsewhere - self.rows_grouped
        return (before + self._rejected_elsewhere, rows), (self.rows_rejected - before, own - before)

    @property
    def _rejected_before(self) -> int:
        dropped, transforms = self.result.at_nodes("dropped_at"), self.load.path.transforms
        last = max((i for i, node in enumerate(transforms) if taken_of(node) or node.aggregates), default=-1)
        return sum(dropped[node.id] for node in (self.load.path.source, *transforms[: last + 1]))

    @property
    def _rejected_elsewhere(self) -> int:
        """The number of rows that belong to no branch and are rejected on the path of the first one, on other paths."""
        elsewhere, routed = self.result.at_nodes("elsewhere_at"), self.result.at_nodes("routed_at")
        taken = [(node.id, take) for node in self.load.path.transforms if (take := taken_of(node)) is not None]
        return sum(
            elsewhere[node] - sum(routed[branch_key(node, to)] for to in take.branch.readers if to != take.to)
            for node, take in taken
        )

    @property
    def is_all_rejected(self) -> bool:
        return 0 < self.rows_rejected == self.rows_unfiltered

    @property
    def beside_rows(self) -> int:
        """The changes of a followed table that are not rows of the pass: deletions, and changes before later ones."""
        changes = self.load.reading.changes
        return changes.beside_rows if changes else 0

    @property
    def node_counts(self) -> dict[str, int]:
        """The counts of the target before its load, under the names of `NodeReport`."""
        rejected_here = self.result.at_nodes("dropped_at")[self.target.id]
        return {
            "rows_in": self.result.total("rows_staged") + rejected_here + self.beside_rows,
            "rows_read": self.rows_read,
            "rows_exploded": self.rows_exploded,
            "rows_filtered": self.rows_filtered,
            "rows_elsewhere": self.rows_elsewhere,
            "rows_grouped": self.rows_grouped,
            "rows_rejected": self.rows_rejected,
            "rows_rejected_here": rejected_here,
            "rows_warned": self.result.total("rows_warned"),
        }
