"""One target of a run, as steps and source readers share it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from executors.destinations.base import DestinationHandler
from executors.load_record import LoadCommit
from executors.target_hooks import TargetHooks
from ir.pipeline import Path


@dataclass(frozen=True, slots=True)
class TargetRun:
    """What loads it, its path from the source, the connection and the hooks. The connection is the handler's own.

    `commit` is what an earlier attempt of this run has committed. `loaded` is what the target has got by this run,
    whichever attempt loaded it; `nothing_new` says that there was nothing to load.
    """

    handler: DestinationHandler
    path: Path
    connection: Any
    hooks: TargetHooks
    commit: LoadCommit | None = None
    table_exists: bool = False
    loaded: LoadCommit | None = None
    nothing_new: bool = False

    @property
    def is_done(self) -> bool:
        return self.loaded is not None or self.nothing_new
