"""Rows that are taken together, compared with the same rows one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executors.change_log.effects import Effects, IncompleteRow, Key, NetEffect
from executors.change_log.net_effect import Changes
from executors.formats.batches import HIDDEN, BadRecords
from executors.model import DestinationColumn
from executors.postgres.read import batch_of_lines
from executors.postgres_cdc import window
from executors.postgres_cdc.protocol import UNCHANGED, Value
from executors.postgres_cdc.replication import Received
from executors.postgres_cdc.window import Bounds, WindowReader
from ir.types import ColumnType
from tests.properties import examples

COLUMNS = [
    DestinationColumn("a", ColumnType("bigint"), "bigint", False, base="bigint"),
    DestinationColumn("b", ColumnType("string"), "text", True, base="text"),
    DestinationColumn("k", ColumnType("string"), "character(3)", False, base="bpchar"),
    DestinationColumn("d", ColumnType("date"), "date", True, base="date"),
    DestinationColumn("t", ColumnType("timestamptz"), "timestamp with time zone", True, base="timestamptz"),
    DestinationColumn("m", ColumnType("time"), "time", True, base="time"),
    DestinationColumn("n", ColumnType("decimal", 38, 9), "numeric(38,9)", True, base="numeric"),
    DestinationColumn("c", ColumnType("string"), "text", True, base="text"),
]
TEXTS = st.text(st.sampled_from("ab ,\"'\n\r\\tnu\té0"), max_size=4).map(str.encode)
STAMPS = [b"2026-01-02 03:04:05+00", b"0001-01-01 00:00:00+00", b"10000-01-01 00:00:00+00", b"infinity", b"-infinity"]
STAMPS += [b"4713-03-15 12:00:00+00 BC", b"9999-12-31 00:00:00+00", b"9998-12-31 00:00:00+00"]
DATES = [b"2026-01-02", b"infinity", b"10000-01-01", b"0044-03-15 BC"]
TIMES = [b"24:00:00", b"23:59:59", b"04:00:00"]
NUMBERS = [b"5", b"-5", b"NaN", b"-Infinity", b"Infinity", b"0.25"]
VALUES: list[st.SearchStrategy[Value]] = [
    st.sampled_from([b"1", b"2", b"-3"]),
    st.none() | TEXTS | st.just(UNCHANGED),
    st.sampled_from([b"x  ", b"yyy", b"", b","]),
    st.none() | st.sampled_from(DATES),
    st.none() | st.sampled_from(STAMPS),
    st.none() | st.sampled_from(TIMES),
    st.none() | st.sampled_from(NUMBERS),
    st.none() | TEXTS,
]
KEY = (0, 2)
ROWS = st.lists(st.tuples(st.sampled_from(b"IUD"), st.tuples(*VALUES)), min_size=1, max_size=40)


def message(kind: int, row: Sequence[Value]) -> bytes:
    """A change of the table 7; a deletion has only the values of the key."""
    if kind == ord("D"):
        row = [value if place in KEY else None for place, value in enumerate(row)]
    cells = [
        b"t" + len(value).to_bytes(4) + value if isinstance(value, bytes) else b"n" if value is None else b"u"
        for value in row
    ]
    tag = b"K" if kind == ord("D") else b"N"
    return bytes([kind]) + (7).to_bytes(4) + tag + len(cells).to_bytes(2) + b"".join(cells)


class Seen(Effects):
    """The results of a reduction, with the values that Spark's tasks read from the lines."""

    def __init__(self) -> None:
        self.rows_read: dict[int, dict[str, Any]] = {}
        self.others: list[Key | IncompleteRow] = []

    def rows(self, lines: Iterator[tuple[int, bytes]]) -> None:
        found = dict(lines)
        if found:
            schema = pa.schema([*HIDDEN, *(pa.field(column.name, pa.string()) for column in COLUMNS)])
            batch = batch_of_lines(list(found.values()), np.array(list(found)), schema, BadRecords())
            self.rows_read = dict(zip(found, batch.to_pylist(), strict=True))

    def delete(self, key: Key) -> None:
        self.others.append(key)

    def add_incomplete(self, row: IncompleteRow) -> None:
        self.others.append(row)


def read(folder: Path, messages: Sequence[bytes]) -> tuple[NetEffect, dict[int, Any], list[Any], frozenset[int]]:
    """Read a transaction with these changes."""
    columns = b"".join(
        bytes([place in KEY]) + column.name.encode() + b"\0" + (place + 1).to_bytes(4) + b"\xff" * 4
        for place, column in enumerate(COLUMNS)
    )
    relation = b"R" + (7).to_bytes(4) + b"public\0s\0d" + len(COLUMNS).to_bytes(2) + columns
    log = [b"B" + (5).to_bytes(8) + bytes(12), relation, *messages, b"C" + bytes(9) + (6).to_bytes(8) + bytes(8)]
    table: Any = SimpleNamespace(oid=7, key=("a", "k"))
    session: Any = SimpleNamespace(messages=lambda *_: [*(Received(0, data) for data in log), Received(9, b"")])
    seen = Seen()
    with Changes(folder) as changes:
        reader = WindowReader(table, changes, lambda _: COLUMNS, lambda: None)
        found = reader.read(session, 0, Bounds(until=9))
        return changes.reduce(seen), seen.rows_read, seen.others, found.beyond


def read_both_ways(factory: pytest.TempPathFactory, messages: Sequence[bytes]) -> list[Any]:
    with pytest.MonkeyPatch.context() as patch:
        found = []
        for fewest in (len(messages) + 1, 1):
            patch.setattr(window, "_FEWEST_TOGETHER", fewest)
            found.append(read(factory.mktemp("window"), messages))
    return found


@settings(max_examples=examples(100))
@given(rows=ROWS)
def test_rows_that_are_read_together_are_those_that_are_read_alone(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, tuple[Value, ...]]]
) -> None:
    alone, together = read_both_ways(tmp_path_factory, [message(kind, row) for kind, row in rows])
    assert together == alone


def test_each_value_that_arrow_cannot_represent_is_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    for place, values in ((3, DATES), (4, STAMPS), (5, TIMES), (6, NUMBERS)):
        for value in values:
            row: list[Value] = [b"1", b"b", b"yyy", None, None, None, None, b"c"]
            row[place] = value
            alone, together = read_both_ways(tmp_path_factory, [message(ord("I"), row)])
            assert together == alone, value
