"""The interface of a destination: everything it does for a run, from opening a target to the commit.

To add one: subclass `DestinationHandler` in a package of this folder, say in `capabilities` what it can do, implement
the abstract methods, and enter it in the table of `executors.destinations`, and its connector in `TARGET_CONNECTORS` of
`ir.connectors`, which declares the same capabilities for the editor. A run refuses a document that asks for more than
the capabilities before it reads anything, so that the other methods are called only where the capabilities promise
them. Rejected rows are fixed and replayed by a handler of their own, in `executors.destinations.rejected_rows`.
`tests/destinations/jsonl` is an example: it appends rows to files. Tests under `every_destination` run in each load
mode of each destination.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import pyarrow as pa

from executors.charsets import UTF8, Charset
from executors.destinations.rejected_rows import RejectedRowsHandler
from executors.effects import Effect, NullRates
from executors.errors import Terminal
from executors.load_record import LoadCommit, Loaded, RunRef
from executors.model import (
    BackfillMark,
    BackupRef,
    Connection,
    Destination,
    FileUndo,
    LoadedChunk,
    RunJob,
    SourceField,
    SourceState,
    StageColumn,
    StoreConnection,
    TaskCount,
)
from executors.ports import LoadUnits
from executors.reading import Reading
from executors.report import CheckReport
from executors.schema_changes import SchemaChange
from ir.nodes import Target
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.runs.state import Load, LoadState, RunContext
    from executors.runs.target_run import TargetRun

Access = Literal["load", "preview", "sample"]
"""Why a run opens a target: to load it, to compute what a load would change, or to store a sample beside it."""

Reevaluation = Callable[[Effect, Mapping[str, NullRates]], None]
"""Raises `Held` in the load's transaction if the load exceeds the limits beyond which a person must approve it."""

Measures = tuple[Effect, Mapping[str, NullRates]]
"""What a load would change, and the NULL rates by column if a limit needs them."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a destination supports.

    `checks` are dataset checks, except for the kinds in `no_checks`; `hooks` run before and after a load; `previews`
    report what a load would change, and `holds` compare that with limits. `quarantine` stores rejected rows,
    `rejected_rows` fixes and replays them, `samples` are stored beside the target, and `undo` restores a table from the
    backup of a load or deletes the rows of a file. `unions` are loads of the rows of several sources, `backfills` those
    of the chunks of one.
    """

    load_modes: frozenset[str]
    checks: bool = False
    no_checks: frozenset[str] = frozenset()
    hooks: bool = False
    previews: bool = False
    holds: bool = False
    quarantine: bool = False
    rejected_rows: bool = False
    samples: bool = False
    undo: bool = False
    unions: bool = False
    backfills: bool = False


@dataclass(frozen=True, slots=True)
class BackfillTarget:
    """What a backfill must know of its target: `latest`, the latest time that a watermark may have, by the clock of the
    destination, and the column that the target follows with its type, None if it follows none. The type is None while
    it is unknown. A rewind must end at the `bound`, from which the next load reads again."""

    latest: datetime
    column: str | None = None
    type: str | None = None
    bound: str | None = None


class StageWriter(Protocol):
    """Writes the output of one task of the pass. Without `commit`, none of it is stored."""

    def __enter__(self) -> StageWriter: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None: ...

    def write_good(self, batch: pa.RecordBatch) -> None:
        """Write rows to load: `_flow_file`, `_flow_record` and the stage columns."""

    def write_rejects(self, batch: pa.RecordBatch) -> None:
        """Write rejected rows with the columns of `executors.rejects`."""

    def commit(self) -> None: ...


class StagingArea(Protocol):
    """Where tasks write their rows. It is pickled and sent to them, so it holds plain data and no plain-text secret."""

    def open(self, schema: pa.Schema, task: int) -> StageWriter:
        """Return the writer of one task; `schema` is the schema of the rows to load."""


class SampledRow(NamedTuple):
    """A row as its source provided it: the name of its file, its record number there, and its values."""

    file: str
    record: int
    row: Mapping[str, Any]


class Undo(Protocol):
    """Undoes loads of a table: restores it from the backup of a load, or deletes the rows of a file."""

    def interrupt(self) -> None:
        """Cancel the current statement of the destination, from another thread."""

    def fence(self) -> None:
        """Prevent older attempts from changing the table. Raises LeaseLost if a newer attempt has done the same."""

    def restore(self, backup: BackupRef, units: LoadUnits) -> LoadCommit:
        """Restore the backup and write the returned marker in one transaction. It happens at most once."""

    def delete_file(self, undo: FileUndo) -> LoadCommit:
        """Delete the rows of a file and write the returned marker in one transaction. It happens at most once. Raises
        Terminal if their number is not the given one, or if deleting them would not restore the table to its state
        without the file."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table prepared for a load, and the columns to stage.

    `reading` is what to read, without the rows that the source can leave out. `rows_range` belongs to the handler and
    says where an incremental load begins. `charset` is the set of texts that the destination can store. `dest` is the
    table after the `changes` of its columns, which the load makes when it commits.
    """

    dest: Destination
    columns: tuple[StageColumn, ...]
    reading: Reading
    rows_range: Any = None
    charset: Charset = UTF8
    changes: tuple[SchemaChange, ...] = ()


def own_columns(target: Target, fields: Sequence[SourceField]) -> tuple[StageColumn, ...]:
    """Return the columns of the pipeline's rows unchanged, for a target that needs no others."""
    return tuple(StageColumn(field.name, field.type, empty_as_null=target.empty_as_null) for field in fields)


class DestinationHandler(ABC):
    """A kind of destination.

    It has no state of a run: the states of the run's steps hold it. Its methods raise `Failure`, into which they
    translate errors of drivers, and `LeaseLost` if a newer attempt owns the run.
    """

    capabilities: ClassVar[Capabilities]
    filled_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns that a load fills if the table has them."""

    # --- inspect ----------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, context: RunContext, paths: tuple[Path, ...], access: Access) -> TargetRun:
        """Connect to the target of these paths and inspect it.

        With the access to load, this also fences off older attempts, finds what this run has committed, and refuses a
        target that another load holds or that no longer has its last load.
        """

    @abstractmethod
    def find_table(self, target: TargetRun) -> Destination | None:
        """Return the table, or None if it does not exist yet. Raises Failure if no load can write to it."""

    def fence_and_find_commits(
        self,
        target: Target,
        run: RunRef,
        connections: Mapping[str, Connection],
        stores: Mapping[str, StoreConnection],
    ) -> list[LoadCommit]:
        """Raise the fence of a target to the token of `run`, so that no older load can commit, and return the commits
        of that run in the target. It happens outside a run, before the run is recorded as failed or cancelled."""
        raise self.unsupported("finding the commits of ended runs")

    # --- prepare ----------------------------------------------------------------------------------------------

    @abstractmethod
    def prepare(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> AbstractContextManager[Prepared]:
        """Prepare the table for a load, and drop it again if the load that created it fails. `fields` are the columns
        of the pipeline's rows."""

    def prepare_read_only(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> AbstractContextManager[Prepared]:
        """Prepare without loading. A temporary table represents a table that does not exist yet."""
        raise self.unsupported("previews")

    def plan_columns(
        self, connection: Connection, path: Path, fields: tuple[SourceField, ...]
    ) -> tuple[tuple[StageColumn, ...], Charset]:
        """Return the columns to stage and the texts that the destination can store. This only reads; it creates
        nothing."""
        return own_columns(path.target, fields), UTF8

    # --- stage ------------------------------------------------------------------------------------------------

    @abstractmethod
    def create_staging(self, load: Load) -> None: ...

    @abstractmethod
    def staging_area(self, load: Load) -> StagingArea: ...

    @abstractmethod
    def drop_staging(self, load: Load) -> None: ...

    def skip_below_watermark(self, state: LoadState) -> LoadState:
        """Remove staged rows below the watermark from staging and set `skipped`."""
        raise self.unsupported("watermarks")

    def watermark_version(self, state: LoadState) -> tuple[int, int] | None:
        """Return a version of the watermark that changes with it: rows were skipped for one version. None without a
        watermark."""
        return None

    def refuse_rows(self, state: LoadState) -> TaskCount | None:
        """Reject the staged rows that the table is known to refuse. They are counted like the rows of another task."""
        return None

    def refuse_failing_rows(self, state: LoadState, failure: Terminal) -> TaskCount:
        """Reject the staged rows that made the load fail. Raises the failure again if no row caused it."""
        raise failure

    def count_rejected_by_file(self, state: LoadState) -> Mapping[int, int]:
        """Count rejected rows by the index of their file."""
        return {}

    # --- check ------------------------------------------------------------------------------------------------

    def probe_checks(self, state: LoadState) -> None:
        """Refuse checks that cannot run on the rows that will be staged."""

    def run_checks(self, state: LoadState) -> list[CheckReport]:
        return []

    def measure(self, state: LoadState) -> Measures:
        raise self.unsupported("previews")

    def refuse_repeats(self, state: LoadState) -> None:
        """Raise the failure of a load whose rows repeat a value that must be unique."""

    # --- commit -----------------------------------------------------------------------------------------------

    @abstractmethod
    def commit(
        self, state: LoadState, *, explains: bool = True, reevaluation: Reevaluation | None = None
    ) -> LoadCommit:
        """Load the staged rows and write a marker in one transaction. It happens at most once.

        `open` and `find_loaded` find the marker. With `explains`, a failure lists the rows that were refused.
        """

    def require_as_staged(self, state: LoadState) -> LoadState:
        """Return the rows that an earlier attempt has staged. Raises Transient `staging.lost` if they are gone or no
        longer fit the table."""
        raise self.unsupported("holds")

    def add_hook_done(self, target: TargetRun, commit: LoadCommit, hook: str) -> None:
        raise self.unsupported("hooks")

    # --- rejects ----------------------------------------------------------------------------------------------

    def probe_quarantine(self, load: Load) -> None:
        """Refuse quarantine tables that cannot store the rejected rows."""

    def ready_quarantine(self, state: LoadState) -> None:
        """Create the quarantine tables for which the load has rows."""

    def keep_rejects(self, state: LoadState) -> tuple[int, int]:
        """Store the rejected rows of a failed load; returns (rows, entries)."""
        return 0, 0

    def rejected_rows(self) -> RejectedRowsHandler:
        """Return the handler that fixes and replays rejected rows."""
        raise self.unsupported("the replay of rejected rows")

    def keep_sample(self, run: RunRef, target: TargetRun, rows: Sequence[SampledRow], types: Mapping[str, str]) -> None:
        """Store rows of a source beside the target for a limited time, with the types of their columns."""
        raise self.unsupported("samples")

    # --- backfills --------------------------------------------------------------------------------------------

    def open_backfill(self, context: RunContext, target: TargetRun, *, is_rewind: bool) -> BackfillTarget:
        """Return what the plan of a backfill must know of the target. Raises Terminal `backfill.target_filled` if the
        chunks would add rows to others, unless they are those of a rewind."""
        raise self.unsupported("backfills")

    def find_cursor_sums(self, target: TargetRun, chunks: Sequence[LoadedChunk]) -> Mapping[int, int]:
        """Return the sums of hashes that were stored with chunks, by chunk, as far as they are known."""
        return {}

    def count_rows(self, target: TargetRun, chunks: Sequence[LoadedChunk]) -> tuple[int, int]:
        """Return the number of rows of the table, and how many of them the runs of chunks have inserted; zeros if that
        is not known."""
        return 0, 0

    def finish_backfill(
        self, context: RunContext, target: TargetRun, mark: BackfillMark, state: SourceState | None
    ) -> LoadCommit:
        """Let the target continue at the mark, or the source at a state, to which the columns of all chunks are added,
        and write the returned marker in one transaction. It happens at most once. No chunk can commit afterwards."""
        raise self.unsupported("backfills")

    # --- undo -------------------------------------------------------------------------------------------------

    def open_undo(self, job: RunJob, run: RunRef, target: Target) -> AbstractContextManager[Undo]:
        """Connect to a target whose loads will be undone."""
        raise self.unsupported("undoing loads")

    # --- trace ------------------------------------------------------------------------------------------------

    @abstractmethod
    def find_loaded(self, job: RunJob, target: TargetRun, source: str, hashes: Collection[str]) -> Mapping[str, Loaded]:
        """Return which of these files of a source node the target has loaded, each with its load. If the target unites
        several sources, a file that it has loaded from another of them does not count."""

    @abstractmethod
    def find_last_files(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, Collection[str]] | None:
        """Return the fence token of the last load and its files of a source node, or None if there is none."""

    def find_state(self, job: RunJob, target: TargetRun, source: str) -> tuple[int, SourceState] | None:
        """Return the fence token of the last load from a source node, and the state of the source after it. Return None
        if there is none, if the table of that load was replaced by another one, or if loads store no states."""
        return None

    @abstractmethod
    def find_loaded_elsewhere(self, job: RunJob, target: TargetRun) -> str | None:
        """Return the table of the last load if it differs from the current one."""

    def unsupported(self, what: str) -> Terminal:
        return Terminal(
            "destination.not_supported",
            f"This destination does not support {what}.",
            hint="Choose another destination, or remove this from the pipeline.",
        )
