"""Showing on a terminal what a run is at, while it runs in this process."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from flowapp.cli.outcome import stderr

if TYPE_CHECKING:
    from executors.model import RunJob, RunReport
    from executors.ports import Ports
    from flowapp.runs.models import Purpose
    from flowapp.runs.purposes import Engine

WORDS = {
    "start": "asking the target",
    "list": "looking for files",
    "scan": "scanning files",
    "pass": "reading and judging rows",
    "check": "checking the whole",
    "effect": "counting what would change",
    "load": "loading",
    "finish": "finishing",
}


class ShownEvents:
    """Events that are shown and passed on."""

    def __init__(self, events: Any, progress: Progress, task: TaskID) -> None:
        self._events, self._progress, self._task = events, progress, task

    def step(self, name: str, node: str | None = None) -> None:
        self._progress.update(self._task, description=f"{WORDS.get(name, name)} {f'({node})' if node else ''}")
        self._events.step(name, node)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)


def _tells_no_interrupt(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("KeyboardInterrupt while")


@contextmanager
def _interrupted_quietly() -> Iterator[None]:
    """The bridge to the JVM logs a traceback for every Ctrl-C that meets it waiting."""
    root = logging.getLogger()
    root.addFilter(_tells_no_interrupt)
    try:
        yield
    finally:
        root.removeFilter(_tells_no_interrupt)


@contextmanager
def shown_engine(title: str, purpose: Purpose) -> Iterator[Engine]:
    """The engine of a purpose, with a bar on standard error while it works if that is a terminal."""
    from flowapp.runs.purposes import PURPOSES

    columns = (TextColumn("{task.fields[title]}"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = stderr()
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with _interrupted_quietly(), bar as progress:
        task = progress.add_task("starting Spark", total=None, title=title)

        def engine(job: RunJob, ports: Ports) -> RunReport:
            run_engine = PURPOSES[purpose].engine
            return run_engine(job, replace(ports, events=ShownEvents(ports.events, progress, task)))

        yield engine
