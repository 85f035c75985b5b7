"""Observe the log of a stream's server, outside of runs."""

from __future__ import annotations

from dataclasses import dataclass

from executors.model import StoreConnection
from executors.mysql.client import connect, database_of
from executors.mysql_cdc.state import LogPosition, LogState

_SECONDS = 5


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The file of the log that a stream reads next. The server has removed it if `is_lost`; `behind_bytes` of its log
    are not loaded."""

    name: str
    is_lost: bool
    behind_bytes: int


def observe_file(connection: StoreConnection, state: str) -> FileFacts:
    """Return the facts of the file that a stored state ends in. Raises `Failure` if the server does not answer."""
    position = LogState.from_text(state).position
    with connect(database_of(connection), seconds=_SECONDS) as session:
        rows = session.rows("SHOW BINARY LOGS")
    sizes = {(row[0] or b"").decode(): int(row[1] or 0) for row in rows}
    later = sum(size for file, size in sizes.items() if LogPosition.of(file, 0).number > position.number)
    rest = max(sizes.get(position.file, 0) - position.offset, 0)
    return FileFacts(position.file, position.file not in sizes, later + rest)
