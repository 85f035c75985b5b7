"""Finds out for a stream whether its source has changes, at less cost than a window."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from executors.model import RunJob
from ir.nodes import Source

_WATCHES = {"postgres_cdc": "executors.postgres_cdc.log_watch:open_watch"}
"""By connector, named by dotted path so that only the one in use is loaded."""


class Watch(Protocol):
    def has_changes(self) -> bool:
        """Return whether a window should read the source. Otherwise the target has everything that was committed there
        before this call."""

    def close(self) -> None: ...


class SourceWatch:
    """The watch of the source that a stream follows. While it is closed, or if the connector has none, the source may
    have changes."""

    def __init__(self, job: RunJob, check: Callable[[], None]) -> None:
        self._job, self._check = job, check
        self._watch: Watch | None = None

    def open(self) -> None:
        """Begin to watch, after a window that has found nothing. `check` raises if the run must end."""
        followed = {target.cdc_source for target in self._job.pipeline.targets()}
        source = next(n for n in self._job.pipeline.nodes if isinstance(n, Source) and n.id in followed)
        if source.connector in _WATCHES:
            module, _, name = _WATCHES[source.connector].partition(":")
            self._watch = getattr(import_module(module), name)(self._job, source, self._check)

    def has_changes(self) -> bool:
        return self._watch is None or self._watch.has_changes()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
