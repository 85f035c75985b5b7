"""Observe the log of a stream's server, outside of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from executors.model import StoreConnection
from executors.mysql.client import Session, connect, database_of
from executors.mysql_cdc.log import open_log
from executors.mysql_cdc.state import LogPosition, LogState

_SECONDS = 5
_SETTINGS = (
    "SELECT unix_timestamp(), variable_name, variable_value FROM information_schema.global_variables"
    " WHERE variable_name IN ('binlog_expire_logs_seconds', 'expire_logs_days')"
)
"""Before MariaDB 10.6 there are days only."""
_DAY = 86_400
_READER = (1 << 32) - 1
"""The number of a reader that no run has."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The file of the log that a stream reads next. The server has removed it if `is_lost`; `behind_bytes` of its log
    are not loaded. The server removes files `expire_seconds` after their last change; None means never. It may remove
    this one in `left_seconds`; None while it still writes to it."""

    name: str
    is_lost: bool
    behind_bytes: int
    expire_seconds: float | None = None
    left_seconds: float | None = None


def observe_file(connection: StoreConnection, state: str) -> FileFacts:
    """Return the facts of the file that a stored state ends in. Raises `Failure` if the server does not answer."""
    position = LogState.from_text(state).position
    with connect(database_of(connection), seconds=_SECONDS) as session:
        rows = session.rows("SHOW BINARY LOGS")
        now, expires = _expiry(session)
    sizes = {(row[0] or b"").decode(): int(row[1] or 0) for row in rows}
    later = sum(size for file, size in sizes.items() if LogPosition.of(file, 0).number > position.number)
    rest = max(sizes.get(position.file, 0) - position.offset, 0)
    is_lost = position.file not in sizes
    left = None
    if expires is not None and not is_lost and (ended := _end_of(connection, position, sizes)) is not None:
        left = max(ended + expires - now, 0.0)
    return FileFacts(position.file, is_lost, later + rest, expires, left)


def _expiry(session: Session) -> tuple[float, float | None]:
    """Return the time of the server, and the seconds after which it removes a file."""
    found = session.rows(_SETTINGS)
    values = {(name or b"").decode().lower(): float(value or 0) for _, name, value in found}
    seconds = values.get("binlog_expire_logs_seconds", values.get("expire_logs_days", 0.0) * _DAY)
    return float(found[0][0] or 0) if found else 0.0, seconds or None


def _end_of(connection: StoreConnection, position: LogPosition, sizes: Mapping[str, int]) -> float | None:
    """Return the time at which the server began the file after that of a position; None if there is none."""
    after = (LogPosition.of(file, 4) for file in sizes)
    following = min((file for file in after if file.number > position.number), default=None)
    if following is None:
        return None
    with open_log(database_of(connection), _READER) as log:
        return float(log.find_born(following))
