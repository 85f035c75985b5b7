"""The interface of a destination: everything it does for a run, from opening a target to the commit.

To add one: subclass `DestinationHandler` in a package of this folder, say in `capabilities` what it can do, implement
the abstract methods, and enter it in the table of `executors.destinations`, and its connector in `TARGET_CONNECTORS` of
`ir.connectors`. A run refuses a document that asks for more than the capabilities before it reads anything, so that
the other methods are called only where the capabilities promise them. Rejected rows are fixed and replayed by a handler
of their own, in `executors.destinations.rejected_rows`. `tests/destinations/jsonl` is an example: it appends rows to
files. Tests under `every_destination` run in each load mode of each destination.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import pyarrow as pa

from executors.charsets import UTF8, Charset
from executors.destinations.rejected_rows import RejectedRowsHandler
from executors.effects import Effect, NullRates
from executors.errors import Terminal
from executors.load_record import LoadCommit, Loaded, RunRef
from executors.model import BackupRef, CheckReport, Destination, RunJob, SourceField, StageColumn, TaskCount
from executors.ports import LoadUnits
from executors.reading import Reading
from ir.nodes import Target
from ir.pipeline import Path

if TYPE_CHECKING:
    from executors.runs.state import Load, LoadState, RunContext
    from executors.runs.target_run import TargetRun

Access = Literal["load", "look", "sample"]
"""What a run opens a target for: to load it, to find out what a load would do, or to keep a sample beside it."""

Reevaluation = Callable[[Effect, Mapping[str, NullRates]], None]
"""Raises `Held` in the load's transaction if a load goes beyond what it may do without a person."""

Measures = tuple[Effect, Mapping[str, NullRates]]
"""What a load would change, and by column the shares of NULL, if a limit asks for them."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a destination can do.

    `checks` are dataset checks, `hooks` what runs around a load, `previews` tell what a load would change, and `holds`
    compare that with limits. `quarantine` keeps rejected rows, `rejected_rows` fixes and replays them, `samples` are
    kept beside the target, and `undo` restores a table from the backup that a load took.
    """

    load_modes: frozenset[str]
    checks: bool = False
    hooks: bool = False
    previews: bool = False
    holds: bool = False
    quarantine: bool = False
    rejected_rows: bool = False
    samples: bool = False
    undo: bool = False


class StageWriter(Protocol):
    """Writes what one task of the pass produces. Without `commit` nothing of it is kept."""

    def __enter__(self) -> StageWriter: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None: ...

    def write_good(self, batch: pa.RecordBatch) -> None:
        """Rows to load: `_flow_file`, `_flow_record` and the stage columns."""

    def write_rejects(self, batch: pa.RecordBatch) -> None:
        """Rejected rows, with the columns of `executors.rejects`."""

    def commit(self) -> None: ...


class StagingArea(Protocol):
    """Where tasks write to. It is sent to them, so that it holds plain data and no secret in the clear."""

    def open(self, schema: pa.Schema, task: int) -> StageWriter:
        """The writer of one task; `schema` is that of the good rows."""


class SampledRow(NamedTuple):
    """A row as it came from its source: the name of its file, its number there, and its values."""

    file: str
    record: int
    row: Mapping[str, Any]


class Undo(Protocol):
    """One restore of a table from the backup of a load."""

    def interrupt(self) -> None:
        """End what the destination is doing, from another thread."""

    def fence(self) -> None:
        """Keep older attempts from restoring. Raises LeaseLost behind a newer one."""

    def restore(self, backup: BackupRef, units: LoadUnits) -> LoadCommit:
        """Put the backup back, once: all or nothing, together with the marker that is returned."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A table that is ready to be loaded, as far as it is known, and the columns to stage.

    `reading` is what there is to read, less the rows that the source can leave out. `rows_range`, the handler's own,
    says where an incremental load begins, `charset` what texts the destination can hold.
    """

    dest: Destination
    columns: tuple[StageColumn, ...]
    reading: Reading
    rows_range: Any = None
    charset: Charset = UTF8


class DestinationHandler(ABC):
    """One kind of destination. It keeps nothing of a run: that is in the states of its steps.

    Its methods raise `Failure`, into which errors of drivers are translated, and `LeaseLost` where a newer attempt owns
    the run.
    """

    capabilities: ClassVar[Capabilities]
    filled_columns: ClassVar[frozenset[str]] = frozenset()
    """Columns that a load fills by itself where a table has them."""

    # --- inspect ----------------------------------------------------------------------------------------------

    @abstractmethod
    def open(self, context: RunContext, path: Path, access: Access) -> TargetRun:
        """Connect to a target and look at it. To load it, this also fences off older attempts, finds what this run has
        committed, and refuses a target that another load holds or that has lost its last load."""

    @abstractmethod
    def find_table(self, target: TargetRun) -> Destination | None:
        """The table, refused if no load can write to it; None if it is still to be made."""

    # --- prepare ----------------------------------------------------------------------------------------------

    @abstractmethod
    def prepare(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> AbstractContextManager[Prepared]:
        """Make the table ready, and drop it if it was made for a load that fails. `fields` are the columns that the
        pipeline's rows have."""

    def prepare_look(
        self, context: RunContext, target: TargetRun, reading: Reading, fields: tuple[SourceField, ...]
    ) -> AbstractContextManager[Prepared]:
        """The same for who loads nothing: something stands in for a table that is still to be made."""
        raise self.unsupported("previews")

    # --- stage ------------------------------------------------------------------------------------------------

    @abstractmethod
    def create_staging(self, load: Load) -> None: ...

    @abstractmethod
    def staging_area(self, load: Load) -> StagingArea: ...

    @abstractmethod
    def drop_staging(self, load: Load) -> None: ...

    def skip_below_watermark(self, state: LoadState) -> LoadState:
        """Take staged rows that are below the watermark out of staging and set `skipped`."""
        raise self.unsupported("watermarks")

    def watermark_version(self, state: LoadState) -> tuple[int, int] | None:
        """What tells whether the watermark is still the one that rows were skipped for. None without one."""
        return None

    def refuse_rows(self, state: LoadState) -> TaskCount | None:
        """Take out the staged rows that the table is known to refuse, counted like those of one more task."""
        return None

    def refuse_failing_rows(self, state: LoadState, failure: Terminal) -> TaskCount:
        """Take out the staged rows by which a load has failed. Raises the failure if it was not for any of them."""
        raise failure

    def count_rejected_by_file(self, state: LoadState) -> Mapping[int, int]:
        """Rejected rows by the place of their file."""
        return {}

    # --- check ------------------------------------------------------------------------------------------------

    def probe_checks(self, state: LoadState) -> None:
        """Refuse checks that cannot be run on what will be staged."""

    def run_checks(self, state: LoadState) -> list[CheckReport]:
        return []

    def measure(self, state: LoadState) -> Measures:
        raise self.unsupported("previews")

    def refuse_repeats(self, state: LoadState) -> None:
        """Raise what the load would fail with if rows share what they must not."""

    # --- commit -----------------------------------------------------------------------------------------------

    @abstractmethod
    def commit(
        self, state: LoadState, *, explains: bool = True, reevaluation: Reevaluation | None = None
    ) -> LoadCommit:
        """Load what is staged, once: all or nothing, together with a marker that `open` and `find_loaded` find. With
        `explains` a failure names the rows that are refused."""

    def require_as_staged(self, state: LoadState) -> LoadState:
        """What an earlier attempt has staged. Raises Transient `staging.lost` if it is gone or no longer fits."""
        raise self.unsupported("holds")

    def add_hook_done(self, target: TargetRun, commit: LoadCommit, hook: str) -> None:
        raise self.unsupported("hooks")

    # --- rejects ----------------------------------------------------------------------------------------------

    def probe_quarantine(self, load: Load) -> None:
        """Refuse quarantine tables that rejected rows do not fit into."""

    def ready_quarantine(self, state: LoadState) -> None:
        """Make the quarantine tables that the load has rows for."""

    def keep_rejects(self, state: LoadState) -> tuple[int, int]:
        """Keep the rejected rows of a load that failed; returns (rows, entries)."""
        return 0, 0

    def rejected_rows(self) -> RejectedRowsHandler:
        """What fixes and replays rejected rows."""
        raise self.unsupported("the replay of rejected rows")

    def keep_sample(self, run: RunRef, target: TargetRun, rows: Sequence[SampledRow]) -> None:
        """Keep rows of a source beside the target for a while."""
        raise self.unsupported("samples")

    # --- undo -------------------------------------------------------------------------------------------------

    def open_undo(self, job: RunJob, run: RunRef, target: Target) -> AbstractContextManager[Undo]:
        """Connect to a target whose table is to be as it was before a load."""
        raise self.unsupported("backups")

    # --- trace ------------------------------------------------------------------------------------------------

    @abstractmethod
    def find_loaded(self, job: RunJob, target: TargetRun, hashes: Collection[str]) -> Mapping[str, Loaded]:
        """Those of these files that the target has loaded, and by which load."""

    @abstractmethod
    def find_last_files(self, job: RunJob, target: TargetRun) -> tuple[int, Collection[str]] | None:
        """The fence token and the files of the last load; None if there is none."""

    @abstractmethod
    def find_loaded_elsewhere(self, job: RunJob, target: TargetRun) -> str | None:
        """The table that the last load went into, if it is not this one any more."""

    def unsupported(self, what: str) -> Terminal:
        return Terminal(
            "destination.not_supported",
            f"This destination does not support {what}.",
            hint="Choose another destination, or leave that out.",
        )
