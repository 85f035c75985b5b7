"""How far a target has followed a table: the state that each load commits with its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from executors.errors import Terminal
from executors.mysql_cdc.columns import LoggedColumn

_VERSION = 1


@dataclass(frozen=True, slots=True, order=True)
class LogPosition:
    """A position in the binary log. Files have increasing numbers, and so have the positions in a file."""

    number: int
    offset: int
    file: str = field(compare=False)

    @classmethod
    def of(cls, file: str, offset: int) -> LogPosition:
        return cls(int(file.rpartition(".")[2]), offset, file)

    def __str__(self) -> str:
        return f"{self.file}:{self.offset}"


@dataclass(frozen=True, slots=True)
class LogState:
    """All transactions whose end is before the position are loaded, and none after it. `server` and `born` are the
    number of the server and the time at which it has made the file, by which the file is known again.

    `columns` are those of the table at the position; None after a statement has changed them, before the first change
    of a row. `prepared` are XA transactions that were prepared before the position and not completed: the position of
    each that has changed the table, None of the others. `dropped` are columns that the table had, in lower case.
    `committed_at` is the time of the newest loaded transaction, or of the moment at which there was no other, in
    seconds since 1970. `more` says whether the log contained further changes."""

    file: str
    offset: int
    server: int
    born: int
    columns: tuple[LoggedColumn, ...] | None
    committed_at: float
    prepared: Mapping[str, tuple[str, int] | None] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    more: bool = False

    @property
    def position(self) -> LogPosition:
        return LogPosition.of(self.file, self.offset)

    def to_text(self) -> str:
        return json.dumps({"version": _VERSION, **asdict(self)}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> LogState:
        """Return the stored state. Raises Terminal `stored.version_unknown`."""
        values: dict[str, Any] = json.loads(text)
        if values.pop("version", None) != _VERSION:
            raise Terminal(
                "stored.version_unknown",
                "The state of the last load was written by a newer release.",
                hint="Install that release again.",
            )
        columns, prepared = values.pop("columns"), values.pop("prepared")
        values["dropped"] = tuple(values["dropped"])
        return cls(
            columns=None if columns is None else tuple(LoggedColumn(**column) for column in columns),
            prepared={xid: None if place is None else (place[0], place[1]) for xid, place in prepared.items()},
            **values,
        )
