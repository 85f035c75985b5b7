"""What a destination that keeps rejected rows does for those who fix them and load them after all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from executors.load_record import LoadCommit, RunRef
from executors.model import RowsRef, RunJob, TaskCount
from executors.reading import Reading
from executors.rejected_rows import Choice, RowOutcome, RowPosition

if TYPE_CHECKING:
    from executors.runs.state import Load, LoadState
    from executors.runs.target_run import TargetRun


class RejectedRowsHandler(ABC):
    """The rejected rows of one kind of destination. Like a `DestinationHandler` it keeps nothing of a run, and raises
    `Failure` and `LeaseLost`."""

    @abstractmethod
    def choose(self, job: RunJob, target: TargetRun, ref: RowsRef) -> tuple[Choice, Reading | None]:
        """What was asked for, and the rows of it that can be loaded; None if there are none."""

    # --- replay -----------------------------------------------------------------------------------------------

    @abstractmethod
    def refuse_read_later(self, state: LoadState) -> TaskCount | None:
        """Take out the staged rows that a later run of an incremental target has read again and not rejected."""

    @abstractmethod
    def find_conflicts(self, state: LoadState) -> Mapping[RowPosition, Mapping[str, Any]]:
        """The rows of the table whose keys staged rows have: the key, and the columns that differ."""

    @abstractmethod
    def refuse_taken_keys(self, state: LoadState) -> TaskCount:
        """Take out the staged rows whose keys the table has, unless a person has chosen that they replace its rows."""

    @abstractmethod
    def find_range_to_leave(self, load: Load) -> Any:
        """Where the next load of an incremental target begins, which a replay must not move. Raises Terminal
        `replay.no_watermark`."""

    @abstractmethod
    def commit(self, state: LoadState) -> LoadCommit:
        """Load the staged rows and note with each rejected row what became of it: all or nothing."""

    @abstractmethod
    def evaluate(self, state: LoadState) -> Mapping[RowPosition, RowOutcome]:
        """What a load of what is staged would do with each row."""

    @abstractmethod
    def keep_results(self, ref: RunRef, target: TargetRun, choice: Choice) -> None:
        """Note what became of rows of which none can be loaded."""

    # --- fix --------------------------------------------------------------------------------------------------

    @abstractmethod
    def fixing(self, target: TargetRun) -> AbstractContextManager[None]:
        """All that is fixed within is kept, or none of it if an error leaves it."""

    @abstractmethod
    def find_fixed(self, target: TargetRun, choice: Choice, column: str) -> Collection[RowPosition]:
        """The rows in which this column has another value than the source's."""

    @abstractmethod
    def find_texts(
        self, target: TargetRun, choice: Choice, column: str, positions: Collection[RowPosition]
    ) -> Mapping[RowPosition, str | None]:
        """What this column of these rows holds now. Texts that are not kept as they are, are left out."""

    @abstractmethod
    def fix(
        self, job: RunJob, target: TargetRun, choice: Choice, ref: RowsRef, values: Mapping[RowPosition, str | None]
    ) -> int:
        """Give the column new values; returns how many rows have changed. Rows that somebody else has changed meanwhile
        are left as they are."""
