"""The events of the binary log that say what a table goes through, and their bytes."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from executors.errors import Terminal
from executors.mysql_cdc.stored import META_BYTES, Stored

QUERY, ROTATE, FORMAT, XID, TABLE_MAP, INCIDENT, XA_PREPARE, GTID = 2, 4, 15, 16, 19, 26, 38, 162
QUERY_COMPRESSED = 165
WRITES, UPDATES, DELETES = (23, 30, 166, 169), (24, 31, 167, 170), (25, 32, 168, 171)
ROWS = frozenset((*WRITES, *UPDATES, *DELETES))
_COMPRESSED = frozenset(range(165, 172))
_SECOND_VERSION = frozenset((30, 31, 32, 169, 170, 171))
_WITHOUT_MEANING = frozenset((3, 5, 13, 14, 27, 160, 161, 163, 164))
"""Stop, values for statements, heartbeats, the text of a statement with rows, checkpoints, lists of transactions and
the start of encryption."""
_IGNORABLE, _ARTIFICIAL = 0x80, 0x20
_HEADER = struct.Struct("<IBIIIH")
_STANDALONE, _GROUP_COMMIT, _PREPARED, _COMPLETED = 1, 2, 64, 128
_NAMES = 4


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `end` is the position after it in its file, 0 if the server made it for this reader."""

    kind: int
    timestamp: int
    end: int
    flags: int
    body: bytes

    @property
    def is_artificial(self) -> bool:
        return bool(self.flags & _ARTIFICIAL) or not self.end

    def require_known(self) -> None:
        """Raise Terminal `cdc.log_unreadable` for events that may change tables in an unknown way."""
        if self.kind not in _WITHOUT_MEANING and not self.flags & _IGNORABLE:
            raise Terminal(
                "cdc.log_unreadable",
                f"The log contains an event of the type {self.kind}, which Flow does not know.",
                hint="Report this with the version of the server. Nothing was loaded.",
            )


def parse_event(packet: bytes) -> Event:
    """Return the event of a packet, which begins with a status byte."""
    timestamp, kind, _, _, end, flags = _HEADER.unpack_from(packet, 1)
    return Event(kind, timestamp, end, flags, packet[1 + _HEADER.size :])


@dataclass(frozen=True, slots=True)
class Group:
    """What begins with an event GTID: a statement by itself, a transaction, or one part of an XA transaction."""

    is_statement: bool
    is_prepared: bool
    is_completed: bool
    xid: str


def parse_group(body: bytes) -> Group:
    flags, at = body[12], 13
    if flags & _GROUP_COMMIT:
        at += 8
    xid = ""
    if flags & (_PREPARED | _COMPLETED):
        kind, gtrid, bqual = struct.unpack_from("<IBB", body, at)
        data = body[at + 6 : at + 6 + gtrid + bqual].hex()
        xid = f"{kind}-{data[: 2 * gtrid]}-{data[2 * gtrid :]}"
    return Group(bool(flags & _STANDALONE), bool(flags & _PREPARED), bool(flags & _COMPLETED), xid)


@dataclass(frozen=True, slots=True)
class Query:
    """A statement, in the database that was selected. The log has the text in the character set of its client; if that
    is not UTF-8, the text is not readable, and only its ASCII characters are right."""

    database: str
    text: str
    is_readable: bool = True


def parse_query(event: Event) -> Query:
    body = event.body
    _, _, length, _, status = struct.unpack_from("<IIBHH", body)
    at = 13 + status
    database, text = body[at : at + length], body[at + length + 1 :]
    if event.kind == QUERY_COMPRESSED:
        text = _uncompressed(text)
    try:
        return Query(database.decode(errors="replace"), text.decode())
    except UnicodeDecodeError:
        return Query(database.decode(errors="replace"), text.decode("latin-1"), is_readable=False)


@dataclass(frozen=True, slots=True)
class TableMap:
    """The columns of a table for the next changes of rows. `names` is empty if the log does not contain them."""

    id: int
    database: str
    table: str
    columns: tuple[Stored, ...]
    names: tuple[str, ...]


def parse_table_name(body: bytes) -> tuple[int, str, str]:
    """Return the number, the database and the name of a table."""
    size = body[8]
    database = body[9 : 9 + size]
    at = 10 + size
    name = body[at + 1 : at + 1 + body[at]]
    return int.from_bytes(body[:6], "little"), database.decode(), name.decode()


def parse_table_map(body: bytes) -> TableMap:
    id_, database, name = parse_table_name(body)
    at = 10 + body[8]
    at += 2 + body[at]
    count, at = _length(body, at)
    types, at = body[at : at + count], at + count
    _, at = _length(body, at)
    columns = []
    for type_ in types:
        size = META_BYTES.get(type_, 0)
        columns.append(Stored.of(type_, body[at : at + size]))
        at += size
    at += (count + 7) // 8
    return TableMap(id_, database, name, tuple(columns), _names(body, at))


def _names(body: bytes, at: int) -> tuple[str, ...]:
    while at < len(body):
        kind = body[at]
        size, at = _length(body, at + 1)
        if kind == _NAMES:
            return tuple(_texts(body[at : at + size]))
        at += size
    return ()


def _texts(raw: bytes) -> Iterator[str]:
    at = 0
    while at < len(raw):
        size, at = _length(raw, at)
        yield raw[at : at + size].decode()
        at += size


@dataclass(frozen=True, slots=True)
class Rows:
    """Changes of rows. `columns` are the positions of those that the new rows contain, `before` of the old ones. `data`
    are the images: old, new or both in turn."""

    table: int
    count: int
    columns: bytes
    before: bytes
    data: bytes

    @property
    def is_whole(self) -> bool:
        """Whether all images have all columns."""
        whole = bytes([0xFF]) * (self.count // 8) + (bytes([(1 << self.count % 8) - 1]) if self.count % 8 else b"")
        return all(_masked(bitmap, self.count) == whole for bitmap in (self.columns, self.before))


def _masked(bitmap: bytes, count: int) -> bytes:
    return bitmap[:-1] + bytes([bitmap[-1] & (1 << count % 8) - 1]) if count % 8 else bitmap


def rows_table(body: bytes) -> int:
    """Return the number of the table of changes."""
    return int.from_bytes(body[:6], "little")


def parse_rows(event: Event) -> Rows:
    body, at = event.body, 8
    if event.kind in _SECOND_VERSION:
        at += int.from_bytes(body[8:10], "little")
    count, at = _length(body, at)
    size = (count + 7) // 8
    first, at = body[at : at + size], at + size
    second = first
    if event.kind in UPDATES:
        second, at = body[at : at + size], at + size
    data = body[at:]
    if event.kind in _COMPRESSED:
        data = _uncompressed(data)
    return Rows(rows_table(body), count, second, first, data)


def parse_rotation(body: bytes) -> tuple[str, int]:
    """Return the next file of the log, and the position in it."""
    return body[8:].decode(), int.from_bytes(body[:8], "little")


def _uncompressed(data: bytes) -> bytes:
    """Return what the server has compressed: its length, then a stream of zlib."""
    size = data[0] & 7
    text = zlib.decompress(data[1 + size :])
    if len(text) != int.from_bytes(data[1 : 1 + size]):
        raise Terminal("cdc.log_unreadable", "A compressed event of the log is not complete.", hint="Try again.")
    return text


def _length(body: bytes, at: int) -> tuple[int, int]:
    first = body[at]
    if first < 0xFB:
        return first, at + 1
    size = {0xFC: 2, 0xFD: 3, 0xFE: 8}[first]
    return int.from_bytes(body[at + 1 : at + 1 + size], "little"), at + 1 + size
