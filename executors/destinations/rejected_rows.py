"""The interface by which a destination with a quarantine fixes and replays rejected rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from executors.load_record import LoadCommit, RunRef
from executors.model import RowsRef, RunJob, TaskCount
from executors.rejected_rows import Choice, RowOutcome, RowPosition

if TYPE_CHECKING:
    from executors.runs.state import Inputs, Load, LoadState
    from executors.runs.target_run import TargetRun


class RejectedRowsHandler(ABC):
    """Fixes and replays rejected rows of one kind of destination. Like a `DestinationHandler` it has no state of a run,
    and raises `Failure` and `LeaseLost`."""

    @abstractmethod
    def choose(self, job: RunJob, target: TargetRun, ref: RowsRef) -> tuple[Choice, Inputs]:
        """Return the chosen rows and the readings of those that can be loaded, each for the path of its rows."""

    # --- replay -----------------------------------------------------------------------------------------------

    @abstractmethod
    def refuse_read_later(self, state: LoadState) -> TaskCount | None:
        """Reject the staged rows that a later run of an incremental target has read again without rejecting them."""

    @abstractmethod
    def find_conflicts(self, state: LoadState) -> Mapping[RowPosition, Mapping[str, Any]]:
        """Return the rows of the table with the keys of staged rows: the key, and the columns that differ."""

    @abstractmethod
    def refuse_taken_keys(self, state: LoadState) -> TaskCount:
        """Reject the staged rows whose keys exist in the table, unless a person has chosen that they replace its
        rows."""

    @abstractmethod
    def find_range_to_leave(self, load: Load) -> Any:
        """Return where the next load of an incremental target begins. A replay must not move it. Raises Terminal
        `replay.no_watermark`."""

    @abstractmethod
    def commit(self, state: LoadState) -> LoadCommit:
        """Load the staged rows and record the outcome of each rejected row in one transaction."""

    @abstractmethod
    def evaluate(self, state: LoadState) -> Mapping[RowPosition, RowOutcome]:
        """Return what a load would do with each staged row."""

    @abstractmethod
    def keep_results(self, ref: RunRef, target: TargetRun, choice: Choice) -> None:
        """Record the outcome of rows if none of them can be loaded."""

    # --- fix --------------------------------------------------------------------------------------------------

    @abstractmethod
    def fixing(self, target: TargetRun) -> AbstractContextManager[None]:
        """A block whose fixes are all stored, or none of them if it raises."""

    @abstractmethod
    def find_fixed(self, target: TargetRun, choice: Choice, column: str) -> Collection[RowPosition]:
        """Return the rows in which this column has another value than in the source."""

    @abstractmethod
    def find_texts(
        self, target: TargetRun, choice: Choice, column: str, positions: Collection[RowPosition]
    ) -> Mapping[RowPosition, str | None]:
        """Return the current values of this column. Values that were not stored exactly are left out."""

    @abstractmethod
    def fix(
        self, job: RunJob, target: TargetRun, choice: Choice, ref: RowsRef, values: Mapping[RowPosition, str | None]
    ) -> int:
        """Set new values of the column; returns how many rows changed. Rows that another person has changed meanwhile
        stay as they are."""
