"""The base of sources that follow the log of a database. `docs/development/connectors.md` shows how to write one."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Protocol

from executors.change_log.copies import copies_on
from executors.change_log.window_files import WindowFiles
from executors.changes import ChangesRead
from executors.errors import Transient
from executors.model import RunJob, SourceField, SourceState
from executors.reading import NoReader, Origin, PartReader, Reading
from executors.sources.base import SnapshotSource, SourceContext
from ir.nodes import Source
from ir.pipeline import Path

NOTHING = Reading((), (), (), NoReader(), 0, is_nothing=True)
"""A window without changes, whose part of the log may be read again."""


@dataclass(frozen=True, slots=True)
class SourceKey:
    """The columns of a followed table, and those of its key."""

    columns: Sequence[str]
    key: Sequence[str]


class Watch(Protocol):
    """Finds out whether a source has changes, at less cost than a window."""

    def has_changes(self) -> bool:
        """Return whether a window should read the source. Otherwise the target has everything that was committed there
        before this call."""

    def close(self) -> None: ...


class LogSource(SnapshotSource):
    """One source node, for one target."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._source, self._stopped = source, Event()

    @classmethod
    @abstractmethod
    def find_key(cls, job: RunJob, source: Source) -> SourceKey:
        """Return the columns and the key of the followed table. Raises Failure."""

    @classmethod
    def end_of_log(cls, job: RunJob, source: Source) -> Any:
        """Return where the log ends before a window, if a watch needs it. Raises Failure."""
        return None

    @classmethod
    @abstractmethod
    def open_watch(cls, job: RunJob, source: Source, start: Any, check: Callable[[], None]) -> Watch | None:
        """Watch the log of a source after a window that has found nothing; `start` is `end_of_log` before this window.
        `check` is called while nothing arrives; it may raise. None if only windows can find changes."""

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def _path(self) -> Path:
        """The path to the target. A source of changes has one."""
        return self.context.paths[0]

    def _check(self) -> None:
        if self._stopped.is_set():
            raise Transient("source.interrupted", f"Reading {self.name} was interrupted.", node=self.node)

    # --- keys -------------------------------------------------------------------------------------------------

    def _named_key(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of the source that become those of `upsertKey`."""
        copies = copies_on(self._path, columns).of
        named = {copy: source for source, found in copies.items() for copy in found}
        return [named.get(column, column) for column in self._path.target.upsert_key or ()]

    def _target_key(self, table: SourceKey) -> tuple[str, ...]:
        """Return the key as the target names it."""
        return copies_on(self._path, table.columns).require(table.key, self.node)

    def _text_keys(self, table: SourceKey, texts: Iterable[str]) -> frozenset[str]:
        """Return those columns of the key, as the target names them, that are among the texts of the source."""
        found = set(texts)
        return frozenset(new for old, new in zip(table.key, self._target_key(table), strict=True) if old in found)

    # --- readings ---------------------------------------------------------------------------------------------

    def _state_of(self, state: str, fields: Iterable[SourceField]) -> SourceState:
        return SourceState(self.state_settings, state, tuple((field.name, str(field.type)) for field in fields))

    def _reading_of(
        self,
        fields: Sequence[SourceField],
        reader: PartReader,
        after: tuple[object, str],
        changes: ChangesRead,
        files: WindowFiles | None = None,
    ) -> Reading:
        """Return a reading of the lines in `files`. `after` are the position to which they go, and the state there."""
        position, state = after
        identity = f"{self.context.claimant.run_id}\n{self.node}\n{position}"
        sha256 = hashlib.sha256(identity.encode()).hexdigest()
        origin = Origin(0, self.name, sha256, is_unit=False, state=self._state_of(state, fields), source=self.node)
        return Reading(
            fields=tuple(fields),
            origins=(origin,),
            parts=tuple(files.parts) if files else (),
            reader=reader,
            records=files.count if files else 0,
            changes=changes,
        )
