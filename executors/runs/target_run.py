"""One target of a run, shared by steps and source readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from executors.destinations.base import DestinationHandler
from executors.load_record import LoadCommit
from executors.target_hooks import TargetHooks
from ir.nodes import Source
from ir.pipeline import Path


@dataclass(frozen=True, slots=True)
class TargetRun:
    """A target with its handler, its paths from the sources, its connection and its hooks. The connection belongs to
    the handler. There are several paths if the rows of several sources are united.

    `commit` is the commit of an earlier attempt of this run. `loaded` is the commit of this run, in whichever attempt;
    `nothing_new` means that there was nothing to load.
    """

    handler: DestinationHandler
    paths: tuple[Path, ...]
    connection: Any
    hooks: TargetHooks
    commit: LoadCommit | None = None
    table_exists: bool = False
    loaded: LoadCommit | None = None
    nothing_new: bool = False

    @property
    def path(self) -> Path:
        """The first path. All paths have the same validate nodes and the same target."""
        return self.paths[0]

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(path.source for path in self.paths)

    @property
    def is_united(self) -> bool:
        return len(self.paths) > 1

    @property
    def is_done(self) -> bool:
        return self.loaded is not None or self.nothing_new
