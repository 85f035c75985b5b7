"""What a source connector does for a run. `docs/development/connectors.md` shows how to write one.

A connector of files derives from `FileSource`, one of the rows of a database from `SnapshotSource`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from executors.formats.files import FileStore
from executors.model import Connection, RunJob, SourceFile
from executors.reading import Reading
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source
from ir.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Claimant:
    """Who claims files: an attempt of a run, known by its fence token. Without a token it only looks.

    `sources` are the source nodes that the pipeline has now.
    """

    pipeline: str
    sources: frozenset[str]
    run_id: str = ""
    token: int | None = None

    @classmethod
    def of(cls, pipeline: Pipeline, run_id: str = "", token: int | None = None) -> Claimant:
        sources = {pipeline.path_to(target).source.id for target in pipeline.targets()}
        return cls(pipeline.id, frozenset(sources), run_id, token)


@dataclass(frozen=True, slots=True)
class RowLimit:
    """The first `rows` rows that a database gives, or so many random ones of its first `random_of` rows."""

    rows: int
    random_of: int | None = None


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a connector is given beside its source node: the workspace's folder, who reads, and the connection that the
    node names.

    `most_seconds` is how long a query may take, None where nothing limits it. `only_looks` is for previews and samples:
    people see rows that no version loads. `limit` is how many rows a database is asked for, None for all.
    """

    folder: Path
    claimant: Claimant
    connection: Connection | None = None
    most_seconds: float | None = None
    only_looks: bool = False
    limit: RowLimit | None = None

    @classmethod
    def of(cls, job: RunJob, source: Source, *, only_looks: bool = False) -> SourceContext:
        """That of an attempt. One that only looks has no token, and so claims nothing."""
        return cls(
            folder=job.files_folder,
            claimant=Claimant.of(job.pipeline, job.run_id, None if only_looks else job.token),
            connection=job.connections[source.connection] if source.connection else None,
            most_seconds=job.pipeline.error_handling.max_minutes * 60,
            only_looks=only_looks,
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """Matching files in the source's order, those that may still be growing, and the pipelines that have claimed others
    that match."""

    files: tuple[SourceFile, ...]
    unsettled: tuple[SourceFile, ...] = ()
    claimed_by: tuple[str, ...] = ()


ArrivedWhole = Callable[[Sequence[SourceFile]], Collection[str]]
"""The paths of those young files that are known not to grow."""


class FileSource(ABC):
    """The files of one source node.

    A connector must say how to find and open them. One that can also claim a file, so that nobody else gets it,
    overrides `list_claimed`, `claimed_by`, `claim`, `requeue` and `archive`; without these, files are read where they
    are and never moved. A claim must be a single step of the store of which one of several callers succeeds: a rename,
    or the creation of an object that must not exist.
    """

    def __init__(self, source: Source, context: SourceContext) -> None:
        self.node, self.context = source.id, context
        self.config = config_of(source, FilesConfig)

    @property
    @abstractmethod
    def store(self) -> FileStore:
        """What opens the files, in this process and in Spark's tasks."""

    @abstractmethod
    def find_files(self, now: float) -> Iterable[SourceFile]:
        """Every file whose name matches at a moment in seconds since 1970, in any order, claimed ones of this source
        included. A store that lists in pages yields them as they come. Raises Terminal where that is not possible."""

    def few_files(self, most: int) -> tuple[SourceFile, ...] | None:
        """The matching files, found while a page waits; None where there are more than `most` files, or where it would
        take a call over the network."""
        return None

    def newest_file(self, most: int) -> SourceFile | None:
        """The one of `few_files` that changed last."""
        return max(self.few_files(most) or (), key=lambda file: file.mtime_ns, default=None)

    def list_files(self, now: float, arrived_whole: ArrivedWhole, seen: Sequence[SourceFile] = ()) -> Listing:
        """The matching files at a moment in seconds since 1970. `seen` are those that were listed as unsettled, as they
        were `settleSeconds` ago by this machine's clock. Raises as `find_files`."""
        found = sorted(self.find_files(now), key=lambda file: (PurePosixPath(file.name).name, file.path))
        before = {file.path: file for file in seen}
        young = [file for file in found if not self._is_settled(file, now, before.get(file.path))]
        whole = arrived_whole(young) if young else ()
        growing = {file.path: file for file in young if file.path not in whole}
        settled = [file for file in found if file.path not in growing]
        if self.config.ordering == "latest_by_mtime":
            settled = sorted(settled, key=lambda file: file.mtime_ns)[-1:]
        files = tuple(replace(file, seq=seq) for seq, file in enumerate(settled))
        return Listing(files, tuple(growing.values()), () if found else self.claimed_by(now))

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        """The files that this source has claimed, in this attempt or in earlier ones, which are dead."""
        return ()

    def claimed_by(self, now: float) -> tuple[str, ...]:
        """The other pipelines that have claimed files with names that match."""
        return ()

    def claim(self, file: SourceFile) -> SourceFile | None:
        """Claim a listed file, so that nobody else does; returns where it is now, None if somebody else was faster.
        Raises Transient `source.changed` if the file is not the one that was listed."""
        return file

    def requeue(self, file: SourceFile) -> None:
        """Move a claimed file back to where it was listed, unless another file has come there since."""
        return None

    def archive(self, file: SourceFile, succeeded: bool) -> None:
        """Move a claimed file to those that were loaded, or to those that failed."""
        return None

    def _is_settled(self, file: SourceFile, now: float, before: SourceFile | None) -> bool:
        """Whether size and times have stood still long enough.

        A time stamp may be anything: a file that is copied with its time looks old, or lies in the future, while it
        grows. The change time is the kernel's own. Where either is young or ahead, only standing still between two
        looks counts, whose distance this machine's clock has measured.
        """
        newest = max(file.mtime_ns, file.ctime_ns or 0) / 1e9
        settle_seconds = self.config.wait_policy.settle_seconds
        return not settle_seconds or now - newest >= settle_seconds or (before is not None and before.is_same(file))


class SnapshotSource(ABC):
    """The rows of one source node as of one moment."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        self.node, self.context = source.id, context

    @property
    @abstractmethod
    def name(self) -> str:
        """As people see it beside a row's number."""

    @property
    @abstractmethod
    def is_shared(self) -> bool:
        """Whether several targets can read the same moment."""

    @abstractmethod
    def open(self, stack: ExitStack) -> None:
        """Fix the moment. It lasts until the last reading is released, at the latest until `stack` is left. Raises
        Failure `source.…`."""

    @abstractmethod
    def reading(self, *, is_last: bool = False) -> Reading:
        """All rows, once it is open; nothing is read after the last."""

    @abstractmethod
    def interrupt(self) -> None:
        """End what is being read, from another thread and at any time; its reader fails."""
