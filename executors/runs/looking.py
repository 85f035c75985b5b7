"""Read-only ports for runs that change nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from executors.model import NewestFile, SourceFile
from executors.ports import Events, LoadUnits, Ports


def without_effects(ports: Ports) -> Ports:
    """Build ports that only read file states and send no alert."""
    return replace(ports, units=_UnitsLeftAlone(ports.units), events=_NoAlerts(ports.events))


class _UnitsLeftAlone(LoadUnits):
    """Read-only file states."""

    def __init__(self, units: LoadUnits) -> None:
        self._units = units

    def forgotten(self, hashes: Iterable[str]) -> Mapping[str, int]:
        return self._units.forgotten(hashes)

    def states_forgotten(self) -> int | None:
        return self._units.states_forgotten()

    def known_hashes(self, fingerprints: Iterable[str]) -> Mapping[str, str]:
        return self._units.known_hashes(fingerprints)

    def claim(self, node: str, files: Mapping[str, SourceFile]) -> None: ...

    def finish(self, hashes: Iterable[str]) -> None: ...

    def undo(self, hashes: Iterable[str], reason: str) -> None: ...

    def mark_deleted(self, hashes: Iterable[str], reason: str) -> None: ...

    def fail(self, node: str, files: Mapping[str, SourceFile], reason: str) -> None: ...

    def failed(self, node: str) -> Collection[str]:
        return self._units.failed(node)

    def arrived_whole(self, files: Sequence[SourceFile]) -> Collection[str]:
        return self._units.arrived_whole(files)

    def newest_loaded(self, node: str, by: Literal["name", "mtime_ns"], without: Collection[str]) -> NewestFile | None:
        return self._units.newest_loaded(node, by, without)

    def skip(self, node: str, file: SourceFile, sha256: str, reason: str) -> None: ...


class _NoAlerts:
    """Events without alerts, because the run loads nothing."""

    def __init__(self, events: Events) -> None:
        self.step, self.node_finished, self.committed = events.step, events.node_finished, events.committed
        self.step_rows, self.step_note, self.log = events.step_rows, events.step_note, events.log

    def alert(
        self, kind: str, severity: Literal["warning", "error"], message: str, next_step: str, node: str | None = None
    ) -> None:
        self.log(severity, message, node)
