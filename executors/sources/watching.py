"""Finds out for a stream whether its source has changes, at less cost than a window."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from executors.model import RunJob
from executors.sources import log_source_of
from executors.sources.log_source import Watch
from ir.nodes import Source


class SourceWatch:
    """The watch of the source that a stream follows. While it is closed, the source may have changes."""

    def __init__(self, job: RunJob, check: Callable[[], None]) -> None:
        self._job, self._check = job, check
        followed = {target.cdc_source for target in job.pipeline.targets()}
        self._source = next(n for n in job.pipeline.nodes if isinstance(n, Source) and n.id in followed)
        self._kind = log_source_of(self._source)
        self._start: Any = None
        self._watch: Watch | None = None

    def leave(self) -> None:
        """End the watch for a window, and note where the log ends before it: the next watch begins there, so that it
        misses nothing that this window does not read."""
        self.close()
        self._start = self._kind.end_of_log(self._job, self._source)

    def open(self) -> None:
        """Begin to watch, after a window that has found nothing."""
        self._watch = self._kind.open_watch(self._job, self._source, self._start, self._check)

    def has_changes(self) -> bool:
        return self._watch is None or self._watch.has_changes()

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None
