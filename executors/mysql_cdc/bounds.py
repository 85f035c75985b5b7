"""What a window of the log reads, where it ends, and what was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from executors.mysql_cdc.columns import Layout, LoggedColumn
from executors.mysql_cdc.log import Logged, LogReader
from executors.mysql_cdc.state import LogPosition, LogState


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a window ends: at the first transaction that begins at or after `until`, or after one that exceeds a number
    of changes, bytes or seconds. The columns of the table were read after `known`, and before `until`."""

    known: LogPosition
    until: LogPosition
    changes: int = 2_000_000
    size: int = 4 << 30
    seconds: float = 600


@dataclass(frozen=True, slots=True)
class Window:
    """What was read. `state` is the one afterwards, `columns` are those of the changes."""

    state: LogState
    columns: tuple[LoggedColumn, ...]


@dataclass(frozen=True, slots=True)
class LogOf:
    """Opens the log: `events` yields those from a position on, with the reader that knows their file."""

    events: Callable[[LogPosition], Iterator[tuple[LogReader, Logged]]]
    layout: Callable[[Sequence[LoggedColumn]], Layout]
