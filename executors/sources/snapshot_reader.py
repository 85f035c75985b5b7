"""Reads rows of databases: each source has one snapshot, which lasts until all its targets have read it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from executors.errors import Failure, Terminal
from executors.model import RunJob, SourceState
from executors.ports import Ports
from executors.reading import Reading
from executors.report import RunWarning
from executors.runs.names import LIST
from executors.runs.target_run import TargetRun
from executors.sources import load_snapshot_source
from executors.sources.base import SnapshotSource, SourceContext
from ir.load_modes import load_mode
from ir.nodes import Source


@dataclass(slots=True)
class _Opened:
    handler: SnapshotSource
    warnings: list[RunWarning] = field(default_factory=list)


class SnapshotSourceReader:
    """Opens each source of a run once. There are no load units: every run reads the current rows. `read_only` is for
    runs that load nothing."""

    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack, *, read_only: bool = False) -> None:
        self._job, self._ports, self._stack = job, ports, stack
        self._read_only = read_only
        self._opened: dict[str, _Opened] = {}

    def read(
        self, source: Source, target_run: TargetRun, target_runs: Sequence[TargetRun], *, again: bool = False
    ) -> Reading | None:
        opened = self._open(source)
        if len(target_runs) > 1 and not opened.handler.is_shared:
            raise Terminal(
                "source.not_pinned",
                f"The snapshot of {opened.handler.name} cannot be shared between sessions, so {len(target_runs)} "
                "targets would get different rows.",
                node=source.id,
                hint="Use a separate pipeline for each target. PostgreSQL can also be read without the pooler.",
            )
        self._warn_of_newer(source, opened, [other for other in target_runs if other.commit])
        still_to_load = [other for other in target_runs if other.commit is None]
        state = None if again else self._state_for(source, opened.handler, target_run)
        reading = opened.handler.reading(is_last=target_run is still_to_load[-1], state=state)
        self._ports.events.step_note(LIST.name, opened.handler.read_note)
        if reading.records is not None:
            self._ports.events.step_rows(LIST.name, reading.records)
        return None if reading.is_nothing else reading

    def _state_for(self, source: Source, handler: SnapshotSource, target_run: TargetRun) -> SourceState | None:
        """Return the state of the source that the target has loaded. Return None if the target needs all rows: it has
        another table now, or a person asked to load everything again. A chunk has bounds of
        its own."""
        settings = handler.state_settings
        if not settings or not target_run.table_exists or self._job.chunk is not None:
            return None
        if load_mode(target_run.path.target.load_mode).replaces_all_rows:
            return None
        found = target_run.handler.find_state(self._job, target_run, source.id)
        if found is None or target_run.handler.find_loaded_elsewhere(self._job, target_run):
            return None
        token, state = found
        forgotten = self._ports.units.states_forgotten()
        if forgotten is not None and token <= forgotten:
            return None
        if state.settings != settings:
            text = "The settings of the source have changed since the last load, so all rows are read."
            self._ports.events.log("info", text, source.id)
            return None
        return state

    def _open(self, source: Source) -> _Opened:
        if source.id not in self._opened:
            self._ports.events.step(LIST.name, source.id)
            context = SourceContext.of(self._job, source, read_only=self._read_only)
            context = replace(context, log=partial(self._log, source.id), chunk=self._job.chunk, rate=self._ports.rate)
            handler = load_snapshot_source(source, context)
            # Stored before it is open, because opening may take long and must be interruptible.
            self._opened[source.id] = _Opened(handler)
            handler.open(self._stack)
        return self._opened[source.id]

    def _log(self, node: str, line: str) -> None:
        self._ports.events.log("info", line, node)

    def _warn_of_newer(self, source: Source, opened: _Opened, loaded: Sequence[TargetRun]) -> None:
        """Warn that targets of earlier attempts have read another snapshot: a snapshot ends with its attempt."""
        if loaded and not opened.warnings:
            names = ", ".join(other.path.target.id for other in loaded)
            opened.warnings.append(
                RunWarning(
                    "source.newer_snapshot",
                    source.id,
                    f"An earlier attempt of this run loaded {names} from {opened.handler.name} as it was then; the "
                    "other targets get it as it is now.",
                )
            )

    def warnings_of(self, source: Source) -> Sequence[RunWarning]:
        opened = self._opened[source.id]
        return [*opened.warnings, *opened.handler.warnings]

    def nothing_new(self, source: Source) -> str:
        return "The source has nothing new."

    def archive_loaded(self, source: Source, target_runs: Sequence[TargetRun]) -> None:
        """Nothing was claimed, but the source may forget what it has returned."""
        opened = self._opened.get(source.id)
        if opened is None or not any(target.loaded for target in target_runs):
            return
        try:
            opened.handler.loaded()
        except Failure as trouble:
            self._ports.events.log("warning", trouble.message, source.id)

    def archive_failed(self, source: Source, reason: str) -> None:
        """Nothing was claimed."""

    def requeue(self, source: Source) -> None:
        """Nothing was claimed."""

    def interrupt(self) -> None:
        for opened in list(self._opened.values()):
            with suppress(Failure):
                opened.handler.interrupt()
