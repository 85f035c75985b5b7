"""Finds out for a stream whether its source has changes, at less cost than a window."""

from __future__ import annotations

from collections.abc import Callable

from executors.model import RunJob
from executors.sources import log_source_of
from executors.sources.log_source import Watch
from ir.nodes import Source


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
        self._watch = log_source_of(source).open_watch(self._job, source, self._check)

    def has_changes(self) -> bool:
        return self._watch is None or self._watch.has_changes()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
