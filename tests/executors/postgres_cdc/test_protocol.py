"""Messages of pgoutput, built by the format that PostgreSQL documents."""

from __future__ import annotations

import struct

import pytest

from executors.errors import Terminal
from executors.postgres_cdc.lsn import lsn_text, parse_lsn
from executors.postgres_cdc.protocol import (
    UNCHANGED,
    Begin,
    Change,
    Commit,
    Relation,
    RelationColumn,
    Truncate,
    decode,
)


def row(*values: bytes | object | None) -> bytes:
    made = struct.pack("!H", len(values))
    for value in values:
        if value is None:
            made += b"n"
        elif isinstance(value, bytes):
            made += b"t" + struct.pack("!I", len(value)) + value
        else:
            made += b"u"
    return made


RELATION = struct.pack("!I", 7)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"B" + struct.pack("!QQI", 5, 9, 3), Begin(5, 3)),
        (b"C" + struct.pack("!BQQQ", 0, 5, 6, 10), Commit(6, 10)),
        (b"I" + RELATION + b"N" + row(b"1", None, b""), Change(7, None, [b"1", None, b""])),
        (b"U" + RELATION + b"N" + row(b"1", UNCHANGED), Change(7, None, [b"1", UNCHANGED])),
        (
            b"U" + RELATION + b"K" + row(b"1", None) + b"N" + row(b"2", UNCHANGED),
            Change(7, [b"1", None], [b"2", UNCHANGED], only_key=True),
        ),
        (
            b"U" + RELATION + b"O" + row(b"1", b"x") + b"N" + row(b"1", UNCHANGED),
            Change(7, [b"1", b"x"], [b"1", UNCHANGED]),
        ),
        (b"D" + RELATION + b"K" + row(b"1", None), Change(7, [b"1", None], None, only_key=True)),
        (b"D" + RELATION + b"O" + row(b"1", b"x"), Change(7, [b"1", b"x"], None)),
        (b"T" + struct.pack("!IBII", 2, 0, 7, 8), Truncate((7, 8))),
        (
            b"R" + RELATION + b"public\0s\0d" + struct.pack("!H", 2)
            + b"\1id\0" + struct.pack("!Ii", 23, -1) + b"\0n\0" + struct.pack("!Ii", 1043, 14),
            Relation(
                7, "public", "s", "d", (RelationColumn(True, "id", 23, -1), RelationColumn(False, "n", 1043, 14))
            ),
        ),
        (b"Y" + RELATION + b"public\0mood\0", None),
        (b"O" + struct.pack("!Q", 1) + b"origin\0", None),
    ],
)  # fmt: skip
def test_each_kind_of_message(data: bytes, message: object) -> None:
    assert decode(data) == message


def test_an_unknown_kind_is_an_error_and_not_skipped() -> None:
    with pytest.raises(Terminal, match="'Z'") as raised:
        decode(b"Z")
    assert raised.value.code == "cdc.log_unreadable"


@pytest.mark.parametrize("text", ["0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF"])
def test_positions_are_written_as_postgres_writes_them(text: str) -> None:
    assert lsn_text(parse_lsn(text)) == text
