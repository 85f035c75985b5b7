"""The interface of a database file: its columns, and its rows as text."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from psycopg import sql

from executors.errors import Failure, InvalidContent, Terminal, Transient
from executors.formats.batches import BadRecords
from executors.model import SourceField


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the source. Its values are selected as `expression`, where `{}` is the column of the row `q`, and
    arrive as text for Flow's own grammar."""

    field: SourceField
    expression: str = "{}"

    @property
    def selected(self) -> sql.Composed:
        """Return the entry of the select list. The table's name before that of the column keeps SQLite from taking an
        unknown column for a text."""
        return sql.SQL(self.expression).format(sql.Identifier("q", self.field.name))


@dataclass(slots=True)
class Rows:
    """Some rows: their number, an array of text for each column, and those with values that cannot be read. Such a row
    is NULL in every column."""

    size: int
    arrays: Sequence[pa.Array]
    bad: BadRecords = field(default_factory=BadRecords)


class FileSession(ABC):
    """An open file, used by one thread. Every method raises Failure `source.…`, without a value of a row."""

    @abstractmethod
    def columns(self, rows: sql.Composable) -> tuple[Column, ...]:
        """Return the columns of a table, or of a query in parentheses."""

    @abstractmethod
    def rows(self, statement: str, columns: Sequence[Column]) -> Iterator[Rows]:
        """Yield the rows of a statement that selects these columns."""

    @abstractmethod
    def interrupt(self) -> None:
        """End the running statement, from another thread."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The identity of a database file and of the file beside it that holds its newest changes: (inode, size in bytes,
    time of the last change in ns), None if there is no such file."""

    file: tuple[int, int, int] | None
    log: tuple[int, int, int] | None

    @classmethod
    def of(cls, path: Path, log_suffix: str) -> Stamp:
        return cls(_status(path), _status(Path(f"{path}{log_suffix}")))


def _status(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def require_unique(name: str, names: Sequence[str]) -> None:
    """Raise Failure for columns that differ only in case: both databases would read the first one for all of them."""
    lowered = [column.lower() for column in names]
    if repeated := [column for column in names if lowered.count(column.lower()) > 1]:
        raise InvalidContent(
            "source.column_repeated",
            f"{name} has more than one column {repeated[0]!r}; case is not compared.",
            hint="Give each column a different name with AS.",
        )


def deadline(seconds: float) -> Failure:
    return Transient(
        "source.cancelled",
        f"Reading the database took longer than the run may take ({seconds:,.0f} s), or the run was cancelled.",
        hint="Read fewer rows, or raise errorHandling.maxMinutes.",
    )


def locked(name: str) -> Failure:
    return Transient(
        "source.lock_timeout",
        f"{name} is locked by another process that writes to it.",
        hint="Try again when the writer has finished, or let it write a copy and rename the copy.",
    )


def not_a_database(name: str, kind: str) -> Failure:
    return Terminal(
        "source.malformed",
        f"{name} is no readable {kind} database.",
        hint=f"Send the file again, complete, or check that this version of {kind} wrote it.",
    )


def refused(code: str, says: str, text: str, hint: str) -> Failure:
    """Return the failure for a statement. `text` is the database's own message, which contains only names."""
    return Terminal(code, f"{says} {text.splitlines()[0].rstrip('.')}.", hint=hint)
