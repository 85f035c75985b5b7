"""Show the current step of a run on a terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from flowapp.cli.outcome import stderr

if TYPE_CHECKING:
    from executors.api import Ports
    from executors.model import RunJob
    from executors.report import RunReport


class ShownRun:
    """The progress bar of a run. `engine` runs the run and reports its steps."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task
        self._openings: dict[str, str] = {}

    def show(self, text: str) -> None:
        self._progress.update(self._task, description=text)

    def show_state(self, state: str, step: str) -> None:
        """Show the state that a worker has stored."""
        if state == "running":
            self.show_step(step)
        else:
            self.show("waiting for a worker")

    def show_step(self, name: str, node: str | None = None) -> None:
        from executors.api import STEP_LABELS

        label = self._openings.get(node or "") if name == "list" else None
        self.show(f"{label or STEP_LABELS.get(name, name)} {f'({node})' if node else ''}")

    def engine(self, job: RunJob, ports: Ports) -> RunReport:
        from flowapp.runs.models import Run
        from flowapp.runs.run_kinds import run_kind_of
        from ir.connectors import CONNECTORS
        from ir.nodes import Source

        self.show("starting Spark")
        sources = (node for node in job.pipeline.nodes if isinstance(node, Source))
        self._openings = {source.id: CONNECTORS[source.connector].first_step for source in sources}
        run = Run.objects.defer("report", "timeline").get(pk=job.run_id)
        return run_kind_of(run).engine(job, replace(ports, events=ShownEvents(ports.events, self)))


class ShownEvents:
    """Events that update the bar and are forwarded."""

    def __init__(self, events: Any, shown: ShownRun) -> None:
        self._events, self._shown = events, shown

    def step(self, name: str, node: str | None = None) -> None:
        self._shown.show_step(name, node)
        self._events.step(name, node)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("KeyboardInterrupt while")


@contextmanager
def _interrupted_quietly() -> Iterator[None]:
    """Suppress the traceback that the bridge to the JVM logs on Ctrl-C."""
    root = logging.getLogger()
    root.addFilter(_is_no_interrupt)
    try:
        yield
    finally:
        root.removeFilter(_is_no_interrupt)


@contextmanager
def shown_run(title: str) -> Iterator[ShownRun]:
    """Show a bar on standard error while a run is executed, if standard error is a terminal."""
    columns = (TextColumn("{task.fields[title]}"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = stderr()
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    with _interrupted_quietly(), bar as progress:
        yield ShownRun(progress, progress.add_task("", total=None, title=title))
