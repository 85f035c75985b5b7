"""`singer`: the rows of one stream of a tap. Its state is stored with the rows, and given to it in the next run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from executors.errors import of_node
from executors.formats.columns import require_columns
from executors.formats.json_rows import read_row
from executors.model import SourceField
from executors.report import RunWarning
from executors.singer.catalogs import Selection
from executors.singer.environments import TapFolder
from executors.singer.reading import TapReader
from executors.singer.schemas import field_of
from executors.singer.settings import merge_settings
from executors.sources.base import SourceContext
from executors.sources.spooled import Fetched, Spool, SpooledSource
from ir.connectors import config_of
from ir.connectors.singer import SingerConfig
from ir.nodes import Source
from ir.types import STRING, ColumnType
from ir.words import counted


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a tap as Flow stores it: the text that the tap has sent, and the columns that only rows have had, so
    that they exist in runs without such rows too."""

    text: str
    extra: tuple[tuple[str, str], ...]

    def stored(self) -> str:
        return f'{{"extra": {json.dumps(dict(self.extra))}, "state": {self.text}}}'

    @classmethod
    def read(cls, stored: str) -> _State:
        row, _ = read_row(stored)
        return cls(str(row["state"]), tuple(json.loads(row["extra"] or "{}").items()))


class SingerSource(SpooledSource):
    """One source node. Its tap runs before Spark reads the rows."""

    def __init__(self, source: Source, context: SourceContext) -> None:
        super().__init__(source, context)
        self._config = config_of(source, SingerConfig)
        if context.taps is None:
            raise TypeError("a source of a tap needs the folder of taps")
        self._folder_of_taps = TapFolder(context.taps)
        self._connection = source.connection or ""
        self._reader: TapReader | None = None
        self._has_state = False
        self._errors = 0

    @property
    def name(self) -> str:
        return self._config.location

    @property
    def warnings(self) -> Sequence[RunWarning]:
        if not self._errors:
            return ()
        text = (
            f"The tap {self._config.tap} logged {counted(self._errors, 'error')} and ended well; rows may be missing."
        )
        return (RunWarning("singer.errors_logged", self.node, text),)

    @property
    def state_settings(self) -> str:
        """A state belongs to the rows that the tap was asked for, so all settings count but the secret ones."""
        if not self._config.keep_state:
            return ""
        asked = {
            "tap": self._config.tap,
            "stream": self._config.stream,
            "connection": self._connection,
            "settings": self._config.settings,
            "fields": self._config.fields,
            "replication": self._config.replication.to_document() if self._config.replication else None,
        }
        return hashlib.sha256(f"{self.node}\n{json.dumps(asked, sort_keys=True)}".encode()).hexdigest()

    def open(self, stack: ExitStack) -> None:
        super().open(stack)
        with of_node(self.node):
            self._tap = stack.enter_context(self._folder_of_taps.used(self._config.tap))
            self._settings = merge_settings(self._tap, self._config.settings or {}, self.context.store)

    def fetch(self, state: str | None, spool: Spool) -> Fetched:
        before = _State.read(state) if state is not None else None
        self._has_state = before is not None
        self.check_stopped()
        self._reader = TapReader(
            self._folder_of_taps,
            self._tap,
            self._settings,
            seconds=self.context.query_seconds,
            readable=(self.context.folder,),
        )

        def take(row: str) -> bool:
            spool.write(row)
            return not spool.is_full

        with of_node(self.node):
            found = self._reader.read(
                self._selection(),
                uses_catalog=self._config.use_catalog,
                state=before.text if before else None,
                take=take,
            )
            for note in found.notes:
                self.context.log(note)
            self._errors += found.errors
            extra = _with_earlier(found.extra, before)
            fields = tuple(self._declared_field(field) for field in (*found.fields, *extra))
            require_columns(self.name, [field.name for field in fields], self._declared)
        columns = tuple((field.name, str(field.type)) for field in extra)
        after = _State(found.state, columns).stored() if found.state and self._config.keep_state else None
        return Fetched(after, fields)

    @property
    def read_note(self) -> str:
        return f"{self.name}, {'from the state of the last load' if self._has_state else 'from the beginning'}"

    def interrupt(self) -> None:
        super().interrupt()
        if self._reader is not None:
            self._reader.interrupt()

    def _selection(self) -> Selection:
        replication = self._config.replication
        return Selection(
            self._config.stream,
            tuple(self._config.fields or ()),
            method=replication.method.upper() if replication else "",
            key=replication.key or "" if replication else "",
        )

    def _declared_field(self, field: SourceField) -> SourceField:
        """Return a column with a declared type as text: its values are parsed as the source declares them."""
        declared = {column.name for column in self._declared}
        return SourceField(field.name, STRING) if field.name in declared else field


def _with_earlier(extra: Iterable[SourceField], before: _State | None) -> list[SourceField]:
    """Return the columns that the schema lacks, with those of earlier runs."""
    found = {field.name: field for field in extra}
    for name, kind in before.extra if before else ():
        found.setdefault(name, field_of(name, ColumnType.parse(kind)))
    return list(found.values())
