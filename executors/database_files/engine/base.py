"""The interface of an engine: the columns of a query, and its rows as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """The limits of an engine in bytes: of a row, of a batch of rows, of its memory, and of its files on disk."""

    row: int
    batch: int
    memory: int
    disk: int


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column of the source: its name, the name of its type in documents, and the expression that selects it, where
    `{}` is the column."""

    name: str
    type: str
    expression: str = "{}"


@dataclass(slots=True)
class TextRows:
    """Some rows: an array of text for each column, and the reason and the raw text of those that cannot be read, by
    their positions. Such a row is NULL in every column."""

    size: int
    arrays: Sequence[pa.Array]
    reasons: Mapping[int, str] = field(default_factory=dict)
    raw: Mapping[int, str] = field(default_factory=dict)


class EngineSession(ABC):
    """An open file. Every method raises Refused, without a value of a row."""

    @abstractmethod
    def columns(self, statement: str) -> Sequence[FoundColumn]:
        """Return the columns of a SELECT."""

    @abstractmethod
    def rows(self, statement: str, columns: Sequence[FoundColumn]) -> Iterator[TextRows]:
        """Yield the rows of a statement that selects these columns."""


class Engine(Protocol):
    """A kind of database file."""

    def connect(self, path: Path, limits: EngineLimits) -> AbstractContextManager[EngineSession]:
        """Open a file for reading only. Raises Refused."""


class Refused(Exception):  # what the database refuses; the reader raises a Failure for it
    """A failure of the catalogue. `kind` is its class: it may be retried, must not be, or is about the content."""

    def __init__(
        self, code: str, message: str, hint: str, kind: Literal["transient", "terminal", "content"] = "terminal"
    ) -> None:
        super().__init__(code)
        self.code, self.message, self.hint, self.kind = code, message, hint, kind


def require_unique(name: str, names: Sequence[str]) -> None:
    """Raise Refused for columns that differ only in case: both databases would read the first one for all of them."""
    lowered = [column.lower() for column in names]
    if repeated := [column for column in names if lowered.count(column.lower()) > 1]:
        raise Refused(
            "source.column_repeated",
            f"{name} has more than one column {repeated[0]!r}; case is not compared.",
            "Give each column a different name with AS.",
            kind="content",
        )


def locked(name: str) -> Refused:
    return Refused(
        "source.lock_timeout",
        f"{name} is locked by another process that writes to it.",
        "Try again when the writer has finished, or let it write a copy and rename the copy.",
        kind="transient",
    )


def not_a_database(name: str, kind: str) -> Refused:
    return Refused(
        "source.malformed",
        f"{name} is no readable {kind} database.",
        f"Send the file again, complete, or check that this version of {kind} wrote it.",
    )


def refused(code: str, says: str, text: str, hint: str) -> Refused:
    """Return the failure for a statement. `text` is the database's own message, which contains only names."""
    return Refused(code, f"{says} {text.splitlines()[0].rstrip('.')}.", hint)


def row_too_long(name: str, most: int) -> Refused:
    return Refused(
        "source.expands_too_much",
        f"A row of {name} is longer than {most >> 20} MB.",
        "Leave the long column out by a query, or read parts of it with substr().",
    )


def out_of_memory(name: str, most: int) -> Refused:
    return Refused(
        "source.query_memory_limit",
        f"The query on {name} needs more than {most / (1 << 30):.0f} GB of memory.",
        "Read the table without sorting, joining or building long values, and leave the rest to the pipeline.",
    )


def disk_is_full(name: str, most: int) -> Refused:
    return Refused(
        "source.query_disk_limit",
        f"The query on {name} needs more than {most >> 30} GB of temporary files, or the disk is full.",
        "Read the table without sorting or joining it, and leave the rest to the pipeline.",
    )
