"""The interfaces through which the engine reports. The control plane implements them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from executors.load_record import LoadCommit
from executors.model import NodeReport, SourceFile


class Events(Protocol):
    """What happened, as it happens."""

    def step(self, name: str, node: str | None = None) -> None:
        """The run enters a step: scan, pass, check, load, committed, finish …"""

    def node_finished(self, report: NodeReport) -> None: ...

    def committed(self, commit: LoadCommit) -> None:
        """A target's load transaction has committed."""

    def log(self, level: Literal["info", "warning", "error"], message: str, node: str | None = None) -> None: ...

    def alert(
        self, kind: str, severity: Literal["warning", "error"], message: str, next_step: str, node: str | None = None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class NewestFile:
    name: str
    mtime_ns: int


class LoadUnits(Protocol):
    """The state of files, by pipeline and SHA-256. Names do not count: the same bytes are one unit."""

    def forgotten(self, hashes: Iterable[str]) -> Mapping[str, int]:
        """The fence token up to which loads of each file are forgotten ("load again"); others are absent.

        What was loaded stands in the target's commit markers, in the transaction of the rows; a commit whose token is
        not above this one does not count.
        """

    def claim(self, node: str, files: Mapping[str, SourceFile]) -> None:
        """Mark files (by hash) as being processed by this run."""

    def finish(self, hashes: Iterable[str]) -> None:
        """Mark files as loaded by all targets."""

    def undo(self, hashes: Iterable[str], reason: str) -> None:
        """Note that loads of files are undone, so that the next run takes them again."""

    def fail(self, node: str, files: Mapping[str, SourceFile], reason: str) -> None:
        """Note that files (by hash) could not be loaded, whether or not a target came to want them. What was loaded
        before stays so."""

    def failed(self, node: str) -> Collection[str]:
        """The names of the source's files that failed, have not been loaded under their name since, and were not left
        out by a person."""

    def arrived_whole(self, files: Sequence[SourceFile]) -> Collection[str]:
        """The paths of those files that came in one piece, as uploads do, and are still what came: they do not grow."""

    def newest_loaded(self, node: str, by: Literal["name", "mtime_ns"], without: Collection[str]) -> NewestFile | None:
        """The file of a source that comes last of those that were loaded; `without` are hashes that do not count."""

    def skip(self, node: str, file: SourceFile, sha256: str, reason: str) -> None:
        """Note that a file was left out, and why."""


class Cancellation(Protocol):
    """How a person, the time limit or a lost lease ends a run."""

    def check(self) -> None:
        """Raise `Cancelled` or `LeaseLost` if the run must end."""

    def on_cancel(self, interrupt: Callable[[], None]) -> None:
        """Call `interrupt` from another thread when the run must end; it must return at once. Replaces the last."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All that a run reports through. `last_commit` names the last commit the audit database knows for a target."""

    events: Events
    units: LoadUnits
    cancellation: Cancellation
    last_commit: Callable[[str], str | None]
