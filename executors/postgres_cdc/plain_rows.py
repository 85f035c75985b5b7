"""Turns messages about rows into lines and keys, many at a time: with numpy, a row costs a third of what it costs
alone.

A message has five bytes before the text of each value (`t` and the length), and one for NULL. Of these bytes some
become the separators of CSV, and the others are left out, so that the texts are copied once and no value becomes an
object.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from executors.postgres_cdc.lines import LineWriter

_FIRST_VALUE = 8
"""The bytes before the values: the kind, the oid of the table, the kind of the row, and the number of values."""
_COUNT = _FIRST_VALUE - 2
_TEXT, _NULL, _DELETE = ord("t"), ord("n"), ord("D")
_COMMA, _QUOTE, _NEWLINE = ord(","), ord('"'), ord("\n")
_PAD = bytes(16)
_SPECIAL = np.zeros(256, dtype=np.uint8)
_SPECIAL[[_COMMA, _QUOTE, _NEWLINE, ord("\r")]] = 1


class PlainRows(NamedTuple):
    """The packed key of each message, and its line, None for a deletion. Those at the positions `others` have neither:
    they need a look at each value."""

    keys: list[bytes]
    lines: list[bytes | None]
    others: list[int]


class _Column(NamedTuple):
    """Where the values of a column are: `at` is the position before the value, `size` the bytes of its text."""

    at: Any
    size: Any
    is_text: Any

    @property
    def start(self) -> Any:
        return self.at + 5

    @property
    def end(self) -> Any:
        return np.where(self.is_text, self.at + 5 + self.size, self.at + 1)


def plain_rows(messages: Sequence[bytes], key: Sequence[int], width: int, writer: LineWriter) -> PlainRows | None:
    """Return the lines of messages that insert, update or delete one row, without its values before an update. `key`
    are the positions of the columns of the key, `width` is the number of columns. Return None for messages that this
    function cannot read."""
    data = b"".join([*messages, _PAD])
    bytes_of = np.frombuffer(bytearray(data), dtype=np.uint8)
    ends = np.cumsum(np.fromiter(map(len, messages), dtype=np.int64, count=len(messages)))
    starts = np.concatenate(([0], ends[:-1]))
    columns = _columns(data, bytes_of, starts, width)
    if columns is None or not (columns[-1].end == ends).all() or not all(columns[i].is_text.all() for i in key):
        return None
    keys = [_keys(data, columns[i]) for i in key]
    is_row = bytes_of[starts] != _DELETE
    others = _unchanged(bytes_of, columns) & is_row
    for i in writer.padded:
        others |= columns[i].is_text & (columns[i].size > 0) & (bytes_of[columns[i].end - 1] == ord(" "))
    writer.look(bytes_of, [(c.start, c.size, c.is_text & is_row & ~others) for c in columns])
    lines, is_special = _lines(bytes_of, starts, ends, columns)
    others |= is_special & is_row
    return PlainRows(
        keys[0] if len(keys) == 1 else list(map(b"".join, zip(*keys, strict=True))),
        [line if row else None for line, row in zip(lines, is_row.tolist(), strict=True)],
        np.flatnonzero(others).tolist(),
    )


def _columns(data: bytes, bytes_of: Any, starts: Any, width: int) -> list[_Column] | None:
    # A number of four bytes can begin at any byte.
    numbers: Any = np.ndarray(len(data) - 3, dtype=">u4", buffer=data, strides=(1,))
    if not ((bytes_of[starts + _COUNT] << np.uint16(8)) + bytes_of[starts + _COUNT + 1] == width).all():
        return None
    columns: list[_Column] = []
    at, last = starts + _FIRST_VALUE, len(data) - len(_PAD)
    for _ in range(width):
        if (at >= last).any():
            return None
        is_text = bytes_of[at] == _TEXT
        column = _Column(at, np.where(is_text, numbers[at + 1], 0).astype(np.int64), is_text)
        columns.append(column)
        at = column.end
    return columns


def _keys(data: bytes, column: _Column) -> list[bytes]:
    """Return packed values: `pack_key` also writes the length in four bytes, then the text."""
    return [data[start:end] for start, end in zip((column.at + 1).tolist(), column.end.tolist(), strict=True)]


def _unchanged(bytes_of: Any, columns: Sequence[_Column]) -> Any:
    """Return which rows have a value that is neither a text nor NULL."""
    found = np.zeros(len(columns[0].at), dtype=bool)
    for column in columns:
        found |= ~column.is_text & (bytes_of[column.at] != _NULL)
    return found


def _lines(bytes_of: Any, starts: Any, ends: Any, columns: Sequence[_Column]) -> tuple[list[bytes], Any]:
    """Write the separators over the bytes between the values. Return the lines, and which of them have a value that
    CSV must quote."""
    stays = np.ones(len(bytes_of), dtype=bool)
    stays[ends[-1] + 1 :] = False
    for offset in range(_FIRST_VALUE):
        stays[starts + offset] = False
    empty = np.zeros(len(starts), dtype=np.int64)
    for place, column in enumerate(columns):
        at = column.at
        bytes_of[at] = _COMMA
        stays[at] = place > 0
        before = at[column.is_text]
        for offset in range(1, 5):
            stays[before + offset] = False
        is_empty = column.is_text & (column.size == 0)
        for offset in (3, 4):  # an empty text is no NULL
            bytes_of[at[is_empty] + offset] = _QUOTE
            stays[at[is_empty] + offset] = True
        empty += is_empty
    bytes_of[ends], stays[ends] = _NEWLINE, True  # the first byte of the next message
    cuts = np.cumsum(stays, dtype=np.int64)[ends]
    begins = np.concatenate(([0], cuts[:-1]))
    text = bytes_of[stays]
    count = np.add.reduceat(_SPECIAL[text], begins, dtype=np.int64)
    whole = text.tobytes()
    lines = [whole[begin:cut] for begin, cut in zip(begins.tolist(), cuts.tolist(), strict=True)]
    return lines, count != len(columns) + 2 * empty
