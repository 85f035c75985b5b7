"""Events of the log as bytes: their checksums, and their places in files of any size."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import pytest

from executors.errors import Transient
from executors.mysql_cdc.events import FORMAT, GTID, ROTATE, XID, _length
from executors.mysql_cdc.log import Logged, LogReader
from executors.mysql_cdc.state import LogPosition

BORN = 1_700_000_000


def packet(kind: int, end: int, body: bytes = b"", *, flags: int = 0, is_summed: bool = True) -> bytes:
    event = struct.pack("<IBIIIH", BORN, kind, 7, 0, end, flags) + body
    return b"\0" + event + (struct.pack("<I", zlib.crc32(event)) if is_summed else b"")


def begin(*, is_summed: bool = True) -> list[bytes]:
    """The events with which a server begins in the middle of a file."""
    rotation = packet(ROTATE, 0, struct.pack("<Q", 4) + b"bin.000001", flags=0x20, is_summed=is_summed)
    return [rotation, packet(FORMAT, 0, bytes(57) + bytes([is_summed]) + bytes(4), is_summed=False)]


class Sent:
    """A session in which the server sends packets."""

    def __init__(self, packets: Sequence[bytes]) -> None:
        self._packets = packets

    def rows(self, statement: str) -> list[Any]:
        return []

    def packets(self, command: int, argument: bytes) -> list[Sequence[bytes]]:
        return [self._packets]


def read(packets: Sequence[bytes], start: int = 4, until: int = 4) -> list[Logged]:
    session: Any = Sent(packets)
    places = (LogPosition.of("bin.000001", offset) for offset in (start, until))
    return list(LogReader(session, 1, "u").read(*places, lambda: None))


@pytest.mark.parametrize("is_summed", [True, False])
def test_checksums_are_removed_where_the_file_has_them(is_summed: bool) -> None:
    found = read([*begin(is_summed=is_summed), packet(XID, 100, b"body", is_summed=is_summed)])
    assert [one.event.body for one in found] == [b"body"]


@pytest.mark.parametrize("place", [1, 5, 20, -5, -1])
def test_an_event_that_was_damaged_is_refused(place: int) -> None:
    damaged = bytearray(packet(XID, 100, b"body"))
    damaged[place] ^= 1
    with pytest.raises(Transient) as caught:
        read([*begin(), bytes(damaged)])
    assert caught.value.code == "cdc.log_damaged"


def test_positions_go_on_beyond_four_gigabytes() -> None:
    four = 1 << 32
    ends = [four - 1, 200, 300]
    found = read([*begin(), *(packet(GTID, end) for end in ends)], start=four - 400)
    # The rotation at the beginning names the position of the file, not that of the reader.
    assert [one.end.offset - found[0].end.offset for one in found] == [0, 201, 301]


def test_a_log_that_ends_early_is_refused() -> None:
    packets = [*begin(), packet(XID, 100)]
    assert read(packets, until=100)
    with pytest.raises(Transient) as caught:
        read(packets, until=101)
    assert caught.value.code == "source.lost"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [(b"\xfa", 250), (b"\xfc\xfb\0", 251), (b"\xfd\1\2\3", 0x030201), (b"\xfe" + bytes(4) + b"\1" + bytes(3), 1 << 32)],
)
def test_lengths(raw: bytes, expected: int) -> None:
    assert _length(raw, 0) == (expected, len(raw))
