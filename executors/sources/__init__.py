"""Source connectors that list and hand over files, named by dotted path so that only the one in use is loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from executors.errors import Terminal
from executors.model import SourceFile
from ir.kinds import KindTable
from ir.nodes import Source
from ir.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Listing:
    """Matching files in the source's order, those that may still be growing, and the pipelines that have claimed others
    that match."""

    files: tuple[SourceFile, ...]
    unsettled: tuple[SourceFile, ...] = ()
    claimed_by: tuple[str, ...] = ()


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


ArrivedWhole = Callable[[Sequence[SourceFile]], Collection[str]]
"""The paths of those young files that are known not to grow."""


class FileSource(Protocol):
    """What a connector of files does for the engine."""

    def list_files(self, now: float, arrived_whole: ArrivedWhole, seen: Sequence[SourceFile] = ()) -> Listing:
        """The matching files at a moment in seconds since 1970. `seen` are those that were listed as unsettled, as they
        were `settleSeconds` ago by this machine's clock."""

    def list_claimed(self, now: float) -> tuple[SourceFile, ...]:
        """The files that this source has claimed, in this attempt or in earlier ones, which are dead."""

    def claim(self, file: SourceFile) -> SourceFile | None:
        """Take a listed file, so that nobody else does; returns where it is now, None if somebody else was faster."""

    def requeue(self, file: SourceFile) -> None:
        """Put a claimed file back to where it was listed, unless another file has come there since."""

    def archive(self, file: SourceFile, succeeded: bool) -> None:
        """Put a claimed file away."""


SOURCES: KindTable[str] = KindTable("source connector", (("local_fs", "executors.sources.local_fs:LocalFs"),))

SNAPSHOT_SOURCES: KindTable[str] = KindTable(
    "source connector", (("postgres", "executors.sources.postgres:PostgresSource"),)
)
"""Connectors whose rows are those of one moment, and not those of files."""


def load_source(source: Source, folder: Path, claimant: Claimant) -> FileSource:
    """The handler of a source node; `folder` is the workspace's. Raises Terminal `kind.not_available`."""
    if source.connector not in SOURCES:
        raise Terminal(
            "kind.not_available",
            f"The source connector {source.connector!r} cannot run yet; {', '.join(SOURCES)} can.",
            hint="Choose another connector.",
            node=source.id,
        )
    module, _, name = SOURCES[source.connector].partition(":")
    handler: FileSource = getattr(import_module(module), name)(source, folder, claimant)
    return handler
