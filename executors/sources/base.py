"""The interface of source connectors. `docs/development/connectors.md` shows how to write one.

A connector for files derives from `FileSource`, one for rows of a database from `SnapshotSource`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from executors.backfill.extents import ChunkCounting, Cursor, Extent, PartitionExtent, RowGroup
from executors.errors import Terminal, of_node
from executors.formats.files import FileStore
from executors.formats.zip_archives import Members, WithMembers, is_archive, list_members
from executors.model import ChunkJob, Connection, RunJob, SourceFile, SourceState, StoreConnection
from executors.ports import RateBudget
from executors.reading import Reading
from executors.report import RunWarning
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source
from ir.pipeline import Path as PipelinePath
from ir.pipeline import Pipeline

_LONGEST_SECONDS = 2_000_000.0


@dataclass(frozen=True, slots=True)
class Claimant:
    """The claimant of files: an attempt of a run, identified by its fence token. Without a token it only reads.

    `sources` are the source nodes of the current pipeline. `tenant` is the UUID of its workspace: several workspaces
    can read one bucket, and their pipelines can have the same name.
    """

    pipeline: str
    sources: frozenset[str]
    run_id: str = ""
    token: int | None = None
    tenant: str = ""

    @classmethod
    def of(cls, pipeline: Pipeline, tenant: str, run_id: str = "", token: int | None = None) -> Claimant:
        sources = {source.id for target in pipeline.targets() for source in pipeline.sources_of(target)}
        return cls(pipeline.id, frozenset(sources), run_id, token, tenant)

    def may_take_over(self, node: str, pipeline: str, source: str, token: int) -> bool:
        """Return whether a claim belongs to the source `node`: to this attempt or to an earlier one, which has ended
        because attempts have increasing tokens. Claims of a source that the pipeline no longer has belong to the source
        whose pattern matches. The caller compares workspaces."""
        if pipeline != self.pipeline or (source != node and source in self.sources):
            return False
        return self.token is None or token <= self.token


@dataclass(frozen=True, slots=True)
class RowLimit:
    """The first `rows` rows of a database, or a random sample of that size from its first `random_of` rows."""

    rows: int
    random_of: int | None = None


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The context of a connector: the workspace's folder, the claimant, and the connection of the source node: a
    database (`connection`) or a store of files (`store`).

    `most_seconds` is the time limit of a query, None for no limit. `read_only` is set for previews and samples, where
    users see rows that no version loads. `limit` restricts the rows of a database, None means all. `taps` is the
    folder of the installed Singer taps. `log` adds a line to the log of the run. `paths` are those from the source to
    its targets. `chunk` restricts the rows to those of a chunk, `rate` limits the requests to the source.
    """

    folder: Path
    claimant: Claimant
    connection: Connection | None = None
    most_seconds: float | None = None
    read_only: bool = False
    limit: RowLimit | None = None
    store: StoreConnection | None = None
    taps: Path | None = None
    log: Callable[[str], None] = lambda line: None
    paths: tuple[PipelinePath, ...] = ()
    chunk: ChunkJob | None = None
    rate: RateBudget | None = None

    @property
    def query_seconds(self) -> float:
        """The time limit of a query as a number that every driver and timer accepts."""
        return min(self.most_seconds or _LONGEST_SECONDS, _LONGEST_SECONDS)

    @classmethod
    def of(cls, job: RunJob, source: Source, *, read_only: bool = False) -> SourceContext:
        """Return the context of an attempt. If `read_only` is true, it has no token and claims nothing."""
        return cls(
            folder=job.files_folder,
            claimant=Claimant.of(job.pipeline, job.tenant, job.run_id, None if read_only else job.token),
            connection=job.connections.get(source.connection or ""),
            store=job.stores.get(source.connection or ""),
            taps=job.taps,
            most_seconds=job.pipeline.error_handling.max_minutes * 60,
            read_only=read_only,
            paths=tuple(path for path in _all_paths(job.pipeline) if path.source.id == source.id),
        )


def _all_paths(pipeline: Pipeline) -> Iterator[PipelinePath]:
    for target in pipeline.targets():
        yield from pipeline.paths_to(target)


@dataclass(frozen=True, slots=True)
class Listing:
    """Matching files in the source's order, files that may still be growing, and the pipelines that have claimed other
    matching files."""

    files: tuple[SourceFile, ...]
    unsettled: tuple[SourceFile, ...] = ()
    claimed_by: tuple[str, ...] = ()


ArrivedWhole = Callable[[Sequence[SourceFile]], Collection[str]]
"""Returns the paths of those recent files that are known to be complete."""


class FileSource(ABC):
    """The files of one source node.

    A connector must implement how to find and open them. To claim files exclusively, it also overrides `list_claimed`,
    `claimed_by`, `claim`, `requeue` and `archive`; otherwise files are read in place and never moved. A claim must be a
    single atomic operation of the store that succeeds for one of several callers: a rename, or the creation of an
    object that must not exist.
    """

    def __init__(self, source: Source, context: SourceContext) -> None:
        self.node, self.context = source.id, context
        self.config = config_of(source, FilesConfig)

    @property
    @abstractmethod
    def store(self) -> FileStore:
        """The store that opens the files, in this process and in Spark's tasks."""

    @abstractmethod
    def find_files(self, now: float) -> Iterable[SourceFile]:
        """Return every file whose name matches at the time `now` (in seconds since 1970), in any order, including
        claimed files of this source. A store that lists in pages yields files page by page. Raises Terminal if files
        cannot be listed."""

    @property
    def reader(self) -> FileStore:
        """The store that opens files and members of ZIP archives, for readers of their rows."""
        return WithMembers(self.store)

    def unpack(self, file: SourceFile, now: float) -> Members:
        """Return what is read of a listed file at the time `now` (in seconds since 1970): the members of a ZIP archive,
        or the file itself. Raises InvalidContent for an archive that cannot be read."""
        matches = self.config.member_matcher(datetime.fromtimestamp(now, UTC))
        if matches is None or not is_archive(file.name):
            return Members((file,))
        with of_node(self.node):
            return list_members(file, self.store, matches)

    def few_files(self, most: int) -> tuple[SourceFile, ...] | None:
        """Return the matching files while a page waits. Return None if there are more than `most` files, or if this
        needs a network call."""
        return None

    def newest_file(self, most: int) -> SourceFile | None:
        """Return the file of `few_files` that changed last."""
        return max(self.few_files(most) or (), key=lambda file: file.mtime_ns, default=None)

    def list_files(self, now: float, arrived_whole: ArrivedWhole, seen: Sequence[SourceFile] = ()) -> Listing:
        """Return the matching files at the time `now` (in seconds since 1970). `seen` are files listed as unsettled
        `settleSeconds` ago, by this machine's clock. Raises as `find_files`."""
        found = sorted(self.find_files(now), key=lambda file: (file.name.rpartition("/")[2], file.path))
        before = {file.path: file for file in seen}
        young = [file for file in found if not self._is_settled(file, now, before.get(file.path))]
        whole = arrived_whole(young) if young else ()
        growing = {file.path: file for file in young if file.path not in whole}
        settled = [file for file in found if file.path not in growing]
        if self.config.ordering == "latest_by_mtime":
            settled = sorted(settled, key=lambda file: file.mtime_ns)[-1:]
        files = tuple(file.at(seq) for seq, file in enumerate(settled))
        return Listing(files, tuple(growing.values()), () if found else self.claimed_by(now))

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        """Return the files that this source has claimed, in this attempt or in earlier ones, which have ended."""
        return ()

    def claimed_by(self, now: float) -> tuple[str, ...]:
        """Return the other pipelines that have claimed files with matching names."""
        return ()

    def claim(self, file: SourceFile) -> SourceFile | None:
        """Claim a listed file exclusively and return its new location, or None if another claimant was faster. Raises
        Transient `source.changed` if the file is not the listed one."""
        return file

    def requeue(self, file: SourceFile) -> None:
        """Move a claimed file back to its original location, unless another file exists there now."""
        return None

    def archive(self, file: SourceFile, succeeded: bool) -> None:
        """Move a claimed file to the folder of loaded files, or to that of failed files."""
        return None

    def _is_settled(self, file: SourceFile, now: float, before: SourceFile | None) -> bool:
        """Return whether size and times have been unchanged long enough.

        Time stamps are not reliable: a file that is copied with its time looks old, or is in the future, while it
        grows. Only the kernel sets the change time. If either is recent or in the future, only two listings with the
        same result count, whose interval this machine's clock has measured.
        """
        newest = max(file.mtime_ns, file.ctime_ns or 0) / 1e9
        settle_seconds = self.config.wait_policy.settle_seconds
        return not settle_seconds or now - newest >= settle_seconds or (before is not None and before.is_same(file))


class SnapshotSource(ABC):
    """The rows of one source node at one point in time."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        self.node, self.context = source.id, context

    @property
    @abstractmethod
    def name(self) -> str:
        """The displayed name of the source."""

    @property
    @abstractmethod
    def is_shared(self) -> bool:
        """Return whether several targets can read the same snapshot."""

    @property
    def warnings(self) -> Sequence[RunWarning]:
        """The warnings about the rows that were read."""
        return ()

    @property
    def read_note(self) -> str:
        """What was read last, in a few words for the page of the run."""
        return self.name

    @property
    def state_settings(self) -> str:
        """The digest of the settings that states of this source belong to; empty if it has no states."""
        return ""

    @abstractmethod
    def open(self, stack: ExitStack) -> None:
        """Take the snapshot. It lasts until the last reading is released, at the latest until `stack` is closed. Raises
        Failure `source.…`."""

    @abstractmethod
    def reading(self, *, is_last: bool = False, state: SourceState | None = None) -> Reading:
        """Return all rows of the open source; with a state, those that it has got since. With `is_last`, nothing is
        read afterwards."""

    def loaded(self) -> None:
        """Note that every target has loaded what was read, and that this is committed. Raises Failure, which does not
        make the run fail."""
        return None

    @abstractmethod
    def interrupt(self) -> None:
        """Interrupt reading, from another thread and at any time. The reader raises."""

    # --- backfills: an open source describes its history. A context with a chunk restricts all readings to it ----

    @property
    def cursor_column(self) -> str | None:
        """The column by which the source itself divides its history; None if any may be chosen."""
        return None

    @property
    def can_count(self) -> bool:
        """Whether the rows of chunks can be counted again."""
        return False

    def state_at(self, cut: str) -> SourceState | None:
        """Return the state of the source after all chunks below a cut were loaded; None if it has no states."""
        return None

    def find_extent(self, column: str, latest: datetime) -> Extent:
        """Return the extent of a cursor, up to a time if its values are times. Raises Terminal `backfill.…`."""
        raise self._cannot_be_divided()

    def cursor_of(self, column: str) -> Cursor:
        """Return the cursor of an open source. Raises Terminal `backfill.column_unknown`."""
        raise self._cannot_be_divided()

    def find_partitions(
        self, cursor: Cursor, names: Sequence[str], start: str | None, cut: str, most: int
    ) -> Sequence[PartitionExtent]:
        """Return the partitions that have rows from the start on and below the cut, at most so many."""
        raise self._cannot_be_divided()

    def count_rows(self, counting: ChunkCounting) -> Sequence[RowGroup]:
        """Return how many rows the source has now in the ranges of chunks."""
        raise self._cannot_be_divided()

    def _cannot_be_divided(self) -> Terminal:
        return Terminal(
            "backfill.not_supported",
            f"The history of {self.name} cannot be divided into chunks.",
            node=self.node,
            hint="Remove backfill from the pipeline: its first run loads everything at once.",
        )
