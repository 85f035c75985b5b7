"""The way of one target through a run, as engine and source readers share it."""

from __future__ import annotations

from dataclasses import dataclass

from executors.model import LoadCommit
from executors.postgres.ddl import Conn
from executors.target_hooks import TargetHooks
from ir.pipeline import Path


@dataclass(slots=True)
class TargetRun:
    """One target of the run: its way from the source and the connection that loads it.

    `commit` is what an earlier attempt of this run has committed.
    """

    path: Path
    connection: Conn
    hooks: TargetHooks
    commit: LoadCommit | None = None
    table_exists: bool = False
    done: bool = False
    nothing_new: bool = False
