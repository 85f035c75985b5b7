"""The interfaces through which the engine reports. The control plane implements them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from executors.errors import Failure
from executors.load_record import LoadCommit
from executors.model import NewestFile, SourceFile
from executors.report import NodeReport


class Events(Protocol):
    """Receives the events of a run as they happen."""

    def step(self, name: str, node: str | None = None) -> None:
        """The run enters a step: scan, pass, check, load, committed, finish …"""

    def step_note(self, name: str, note: str) -> None:
        """The step of that name, if it is the current one, has read what these few words say."""

    def step_rows(self, name: str, rows: int) -> None:
        """The step of that name, if it is the current one, has gone through this many rows."""

    def node_finished(self, report: NodeReport) -> None: ...

    def committed(self, commit: LoadCommit) -> None:
        """A target's load transaction has committed."""

    def log(self, level: Literal["info", "warning", "error"], message: str, node: str | None = None) -> None: ...

    def alert(
        self, kind: str, severity: Literal["warning", "error"], message: str, next_step: str, node: str | None = None
    ) -> None: ...


class LoadUnits(Protocol):
    """The state of files, by pipeline and SHA-256. Names do not count: the same bytes are one unit."""

    def forgotten(self, hashes: Iterable[str]) -> Mapping[str, int]:
        """Return the fence token up to which loads of each file are forgotten ("load again"); other files are absent.

        The target's commit markers record loaded files, in the same transaction as the rows. A commit whose token is
        not above the returned one does not count.
        """

    def states_forgotten(self) -> int | None:
        """Return the fence token up to which the states of sources are forgotten ("load again"); None if none is.

        A state that a load with a token up to this one has committed does not count.
        """

    def known_hashes(self, fingerprints: Iterable[str]) -> Mapping[str, str]:
        """Return the SHA-256 of files by their fingerprints, as far as they were loaded before; others are absent."""

    def claim(self, node: str, files: Mapping[str, SourceFile]) -> None:
        """Mark files (by hash) as being processed by this run."""

    def finish(self, hashes: Iterable[str]) -> None:
        """Mark files as loaded by all targets."""

    def undo(self, hashes: Iterable[str], reason: str) -> None:
        """Record that loads of these files are undone, so that the next run loads the files again."""

    def mark_deleted(self, hashes: Iterable[str], reason: str) -> None:
        """Record that the rows of these files were deleted: no run loads the files again without a request."""

    def fail(self, node: str, files: Mapping[str, SourceFile], reason: str) -> None:
        """Record that these files (by hash) failed to load, whether or not a target needed them. Earlier loads of the
        files stay recorded.
        """

    def failed(self, node: str) -> Collection[str]:
        """Return the names of files of the source that failed, that no run has loaded under this name since, and that
        no person has skipped.
        """

    def arrived_whole(self, files: Sequence[SourceFile]) -> Collection[str]:
        """Return the paths of files that arrived complete (such as uploads) and are unchanged: they do not grow."""

    def newest_loaded(self, node: str, by: Literal["name", "mtime_ns"], without: Collection[str]) -> NewestFile | None:
        """Return the last loaded file of a source, ordered by `by`, ignoring the hashes in `without`."""

    def skip(self, node: str, file: SourceFile, sha256: str, reason: str) -> None:
        """Record that a run skipped a file, and the reason."""


class Cancellation(Protocol):
    """Ends a run after a cancellation, a timeout or a lost lease."""

    def check(self) -> None:
        """Raise `Cancelled` or `LeaseLost` if the run must end."""

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        """Register `interrupt`, to be called from another thread when the run must end. It must return at once.
        Replaces the previously registered function.
        """


class RateBudget(Protocol):
    """Limits the requests to a source, over all runs of its pipeline."""

    def take(self, requests: int = 1) -> None:
        """Wait until so many requests may be sent. Raises `Cancelled` or `LeaseLost` if the run must end."""


@dataclass(frozen=True, slots=True)
class WriteBudget:
    """The highest number of rows per second that a run may write: its share of what all runs of a pipeline may."""

    rows_per_second: float


class StreamControl(Protocol):
    """Directs a stream: a run that repeats windows, each of which is a load."""

    def begin_window(self) -> bool:
        """Start the time limit of a window. Return False if the stream must end, between two windows."""

    def end_window(self, began: float, *, has_more: bool) -> None:
        """A window that began at this time (seconds since 1970) has committed, or had nothing to load. Unless the
        source `has_more`, the target then has everything that was committed before it began."""

    def fail_window(self, failure: Failure, seconds: float) -> None:
        """A window has failed and is tried again in the given seconds."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All interfaces through which a run reports. `last_commit` names the last commit of a target that the audit
    database records. `rate` limits the requests to the source, `writes` the rows that are written; None means no
    limit. `stream` directs a stream; other runs have none.
    """

    events: Events
    units: LoadUnits
    cancellation: Cancellation
    last_commit: Callable[[str], str | None]
    rate: RateBudget | None = None
    writes: WriteBudget | None = None
    stream: StreamControl | None = None
