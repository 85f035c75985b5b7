"""A preview: what a run would change, found out without loading, taking or moving anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Literal

from executors.columnless import (
    ColumnlessPreview,
    blank_warning,
    names_no_column,
    with_columns_of,
    without_columns,
)
from executors.destination import refuse_unloadable
from executors.engine import PipelineRun, carry_out
from executors.errors import Failure
from executors.markers import add_warnings
from executors.model import RunJob, RunReport, SourceFile
from executors.ports import Events, LoadUnits, NewestFile, Ports
from executors.postgres import meta
from executors.reading import Reading
from executors.runs.target_run import TargetRun
from executors.target_preview import TargetPreview


def preview_pipeline(job: RunJob, ports: Ports) -> RunReport:
    """What a run of this pipeline would change now; the report's `effects` say it, target by target.

    Raises the `Failure` that would end the run. Nothing is fenced, claimed, moved, kept or loaded; of staging nothing
    is left.
    """
    return carry_out(PipelinePreview, job, ports)


def without_effects(ports: Ports) -> Ports:
    """Ports by which the states of files are read only, and nobody is called."""
    return replace(ports, units=_UnitsLeftAlone(ports.units), events=_NoAlerts(ports.events))


class PipelinePreview(PipelineRun):
    only_looks = True

    def __init__(self, job: RunJob, ports: Ports, stack: ExitStack) -> None:
        super().__init__(job, without_effects(ports), stack)

    def _prepare(self, lane: TargetRun) -> None:
        meta.ensure_meta(lane.connection)
        self._refuse_older_state(lane)
        self._look(lane)

    def load(self, lane: TargetRun) -> None:
        """Count what one target would get."""
        reading = self._read(lane)
        if reading and names_no_column(reading):
            self._look_at_columnless(lane, reading)
        elif reading:
            self.report.effects.append(self._target(TargetPreview, lane, reading).preview())
        else:
            self._tell_nothing_new(lane)

    def _look_at_columnless(self, lane: TargetRun, reading: Reading) -> None:
        bare = without_columns(lane)
        if not reading.is_blank:
            self._target(ColumnlessPreview, bare, reading).run()
        add_warnings(self.report, [blank_warning(lane.path.source.id, reading)])
        if table := refuse_unloadable(lane.connection, lane.path.target):
            reading = with_columns_of(reading, table)
            self.report.effects.append(self._target(TargetPreview, bare, reading).preview())
        else:
            self._tell_nothing_new(lane)

    def finish(self) -> None:
        self.report.nothing_new = all(lane.nothing_new for lane in self.lanes)

    def give_up(self, cause: Failure) -> None:
        """Nothing was claimed, so nothing is to be requeued."""


class _UnitsLeftAlone(LoadUnits):
    """The states of files, to be read only."""

    def __init__(self, units: LoadUnits) -> None:
        self._units = units

    def forgotten(self, hashes: Iterable[str]) -> Mapping[str, int]:
        return self._units.forgotten(hashes)

    def claim(self, node: str, files: Mapping[str, SourceFile]) -> None: ...

    def finish(self, hashes: Iterable[str]) -> None: ...

    def undo(self, hashes: Iterable[str], reason: str) -> None: ...

    def fail(self, node: str, files: Mapping[str, SourceFile], reason: str) -> None: ...

    def failed(self, node: str) -> Collection[str]:
        return self._units.failed(node)

    def arrived_whole(self, files: Sequence[SourceFile]) -> Collection[str]:
        return self._units.arrived_whole(files)

    def newest_loaded(self, node: str, by: Literal["name", "mtime_ns"], without: Collection[str]) -> NewestFile | None:
        return self._units.newest_loaded(node, by, without)

    def skip(self, node: str, file: SourceFile, sha256: str, reason: str) -> None: ...


class _NoAlerts:
    """Events of which none is an alert: nobody is called for what has not happened."""

    def __init__(self, events: Events) -> None:
        self.step, self.node_finished, self.committed = events.step, events.node_finished, events.committed
        self.log = events.log

    def alert(
        self, kind: str, severity: Literal["warning", "error"], message: str, next_step: str, node: str | None = None
    ) -> None:
        self.log(severity, message, node)
