"""Reads the binary log of a server from a position to its end."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from executors.errors import Failure, Terminal, Transient
from executors.model import Connection
from executors.mysql.client import Session, connect
from executors.mysql_cdc.events import FORMAT, ROTATE, Event, parse_event, parse_rotation
from executors.mysql_cdc.state import LogPosition
from executors.mysql_cdc.tables import not_allowed

_COMMAND = 0x12
_TO_THE_END = 1
_KIND, _SUM_BYTES, _CRC32 = 5, 4, 1
_ANSWER_SECONDS = 120
MOST_OFFSET = 1 << 32
"""The command names a position in four bytes."""


@dataclass(frozen=True, slots=True)
class Logged:
    """An event with its place: it begins at `start` and ends at `end`."""

    event: Event
    start: LogPosition
    end: LogPosition


class LogReader:
    """Reads the log in a session of its own. `born` is the time at which the server made the file of the first
    position, known after the first event."""

    def __init__(self, session: Session, reader: int, user: str) -> None:
        self._session, self._reader, self._user = session, reader, user
        self.born = 0
        self._has_sums = True
        self.file_born = 0
        """The same of the file that is being read."""

    def read(self, start: LogPosition, until: LogPosition, check: Callable[[], None]) -> Iterator[Logged]:
        """Yield the events from a position on to the end of the log, at least those before `until`. Raises Failure."""
        for statement in ("COMMIT", "SET SESSION max_statement_time = 0",
                          "SET @master_binlog_checksum = 'CRC32', @mariadb_slave_capability = 4"):  # fmt: skip
            self._session.rows(statement)
        command = struct.pack("<IHI", start.offset, _TO_THE_END, self._reader) + start.file.encode()
        at = start
        try:
            for packets in self._session.packets(_COMMAND, command):
                check()
                for packet in packets:
                    event = parse_event(self._without_sum(packet))
                    if event.is_artificial:
                        at = self._moved(event, at)
                        continue
                    end = _after(at, event)
                    if event.kind == FORMAT:
                        self._note(event)
                    elif event.kind == ROTATE:
                        end = LogPosition.of(*parse_rotation(event.body))
                    yield Logged(event, at, end)
                    at = end
        except Failure as failure:
            raise not_allowed(failure, "REPLICATION SLAVE", self._user) from None
        if at < until:
            # Also what a server sends to a session whose statement was ended, or while it shuts down.
            raise Transient(
                "source.lost",
                f"The server has sent its log up to {at} only, and it contains changes up to {until}.",
                hint="The run is tried again. Let nothing on the server end sessions that read its log.",
            )

    def _without_sum(self, packet: bytes) -> bytes:
        """Return a packet without its checksum, if the file has them. Raises Transient `cdc.log_damaged`."""
        kind = packet[_KIND]
        if kind == FORMAT:
            self._has_sums = packet[-_SUM_BYTES - 1] == _CRC32
            return packet
        if not self._has_sums:
            return packet
        end = len(packet) - _SUM_BYTES
        if zlib.crc32(memoryview(packet)[1:end]) == int.from_bytes(packet[end:], "little"):
            return packet[:end]
        if kind == ROTATE:  # before the first event of a file, which says whether it has checksums
            return packet
        raise Transient(
            "cdc.log_damaged",
            "An event of the log does not have the checksum that the server has computed.",
            hint="The run is tried again. If this repeats, check the disk of the server: mariadb-binlog "
            "--verify-binlog-checksum.",
        )

    def _moved(self, event: Event, at: LogPosition) -> LogPosition:
        """Return the position after an event that the server made for this reader."""
        if event.kind == FORMAT:
            self._note(event)
        if event.kind == ROTATE:
            return LogPosition.of(*parse_rotation(event.body))
        return at

    def _note(self, event: Event) -> None:
        self.file_born = event.timestamp
        self.born = self.born or event.timestamp

    def find_born(self, position: LogPosition) -> int:
        """Return the time at which the server made the file of a position. The session can read nothing else after."""
        for _ in self.read(position, position, lambda: None):
            break
        if not self.born:
            raise Transient("source.lost", "The server has sent nothing of its log.", hint="The run is tried again.")
        return self.born


def _after(at: LogPosition, event: Event) -> LogPosition:
    """Return the position after an event, which states only its lower 32 bits."""
    upper = at.offset & ~(MOST_OFFSET - 1)
    end = upper | event.end
    return LogPosition(at.number, end if end >= at.offset else end + MOST_OFFSET, at.file)


def reader_number(tenant: str, pipeline: str, node: str) -> int:
    """Return the number of the reader: it is the same in all runs of a node, and above those that people choose."""
    text = f"{tenant}\n{pipeline}\n{node}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) | 1 << 31


@contextmanager
def open_log(connection: Connection, reader: int) -> Iterator[LogReader]:
    """Open a session that reads the log. `reader` is the number by which the server knows it: the session of a worker
    that was killed ends when the next one begins. Raises Failure."""
    with connect(connection, seconds=_ANSWER_SECONDS) as session:
        yield LogReader(session, reader, connection.user)


def require_position(files: dict[str, int], position: LogPosition, name: str) -> None:
    """Check that the log has a position. Raises Terminal `cdc.log_missing` and `cdc.source_changed`."""
    if position.file in files and position.offset <= files[position.file]:
        return
    again = "then load the table again, with a reason: flow run --load-again. Nothing was changed."
    first = min((LogPosition.of(file, 0) for file in files), default=None)
    if first is not None and position < first and first.file.rpartition(".")[0] == position.file.rpartition(".")[0]:
        raise Terminal(
            "cdc.log_missing",
            f"The server has removed its log {position.file}, whose changes of {name} were not loaded.",
            hint=f"Raise binlog_expire_logs_seconds, {again}",
        )
    raise Terminal(
        "cdc.source_changed",
        f"The server has no position {position} in its log: it is another server, or it was restored or reset.",
        hint=f"Check the connection, {again}",
    )
