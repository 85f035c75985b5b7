"""Reads one stream of a tap: discover, select, read."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executors.errors import Terminal, Transient
from executors.model import SourceField, StoreConnection
from executors.singer.catalogs import Selection, Stream, read_catalog, select, streams_of
from executors.singer.collecting import Collector
from executors.singer.environments import Tap, TapFolder
from executors.singer.messages import read_messages
from executors.singer.process import MOST_LINE_BYTES, TapCall, TapProcess, running
from executors.singer.settings import TapSettings, merge_settings


def find_streams(
    folder: TapFolder,
    name: str,
    given: Mapping[str, Any],
    connection: StoreConnection | None,
    seconds: float,
    readable: Sequence[Path] = (),
) -> tuple[Stream, ...]:
    """Return the streams of a tap. `given` are the settings of the pipeline. Raises Failure `singer.…`."""
    with folder.used(name) as tap:
        settings = merge_settings(tap, given, connection)
        reader = TapReader(folder, tap, settings, seconds=seconds, readable=readable)
        return streams_of(reader.discover())


@dataclass(frozen=True, slots=True)
class StreamRead:
    """The result of reading a stream: the columns of its schema, and those that only rows have. `state` is None if the
    tap has sent none. `notes` are warnings for the log, `errors` is the number of errors that the tap has logged."""

    fields: tuple[SourceField, ...]
    extra: tuple[SourceField, ...]
    state: str | None
    notes: tuple[str, ...]
    errors: int


class TapReader:
    """Calls one tap within a time limit. `readable` are folders that it may read."""

    def __init__(
        self, folder: TapFolder, tap: Tap, settings: TapSettings, *, seconds: float, readable: Sequence[Path] = ()
    ) -> None:
        self._folder, self._tap, self._settings = folder, tap, settings
        self._end, self._readable = time.monotonic() + seconds, tuple(readable)
        self._process: TapProcess | None = None
        self._is_interrupted = False

    def discover(self) -> dict[str, Any]:
        """Return the catalog of the tap. Raises Failure `singer.…`."""
        with running(self._folder, self._tap, self._call(options=("--discover",))) as process:
            self._watch(process)
            parts, size = [], 0
            for line in process.lines():
                parts.append(line)
                size += len(line)
                if size > MOST_LINE_BYTES:
                    raise Terminal(
                        "singer.message_too_long",
                        f"The catalog of the tap {self._tap.name} has more than {MOST_LINE_BYTES >> 20} MB.",
                        hint="Limit the tap to fewer streams by its settings.",
                    )
        return read_catalog(b"".join(parts).decode(errors="replace"), self._tap.name)

    def read(
        self,
        selection: Selection,
        *,
        uses_catalog: bool = True,
        state: str | None = None,
        take: Callable[[str], bool],
    ) -> StreamRead:
        """Read the rows of a stream since a state. `take` gets the text of each one and returns whether it wants more.
        Raises Failure `singer.…`."""
        names, files, stream = {selection.stream}, {}, None
        if uses_catalog:
            catalog, stream = select(self.discover(), selection, self._tap.name)
            files["catalog"] = json.dumps(catalog)
            names = {stream.id, stream.name}
        if state is not None:
            files["state"] = state
        collector = Collector(self._tap.name, names, state)
        with running(self._folder, self._tap, self._call(files=files)) as process:
            self._watch(process)
            with closing(process.lines()) as lines:
                for message in read_messages(lines, self._tap.name):
                    row = collector.add(message)
                    if row is not None and not take(row):
                        break
        if collector.has_schema:
            found, extra = collector.fields, collector.extra
            return StreamRead(found, extra, collector.state, _notes(process, collector), process.errors)
        if state is None or stream is None:
            raise self._missing(selection.stream, collector)
        return StreamRead(stream.fields, (), collector.state, _notes(process, collector), process.errors)

    def interrupt(self) -> None:
        """Kill the tap, from any thread. The reader raises."""
        self._is_interrupted = True
        if self._process is not None:
            self._process.end()

    def _watch(self, process: TapProcess) -> None:
        self._process = process
        if self._is_interrupted:
            raise Transient("singer.interrupted", f"The tap {self._tap.name} was stopped.")

    def _call(self, files: dict[str, str] | None = None, options: tuple[str, ...] = ()) -> TapCall:
        seconds = max(1.0, self._end - time.monotonic())
        return TapCall(self._settings, files or {}, options, self._readable, seconds)

    def _missing(self, stream: str, collector: Collector) -> Terminal:
        others = ", ".join(sorted(collector.others)[:20])
        return Terminal(
            "singer.stream_missing",
            f"The tap {self._tap.name} sent nothing of the stream {stream!r}"
            + (f", only rows of {others}." if others else "."),
            hint="Correct the name of the stream, or select it in the settings of the tap.",
        )


def _notes(process: TapProcess, collector: Collector) -> tuple[str, ...]:
    """Return what a person should know about a successful call."""
    notes = [f"The tap logged: {note}" for note in process.notes]
    if process.unnoted:
        notes.append(f"The tap logged {process.unnoted:,} more warnings and errors.")
    for name, rows in collector.others.items():
        notes.append(f"The tap also sent {rows:,} rows of the stream {name}, which the source does not read.")
    if collector.new_versions:
        notes.append(
            "The tap has begun a new version of the stream. Rows that no longer exist at the source stay in the "
            "target, unless its load mode replaces all rows."
        )
    return tuple(notes)
