"""Rows of changes as lines of CSV in the form that COPY writes, so that they are read like rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from executors.change_log.lines import cell
from executors.model import DestinationColumn
from executors.postgres.read import field_of
from executors.postgres_cdc.protocol import UNCHANGED, Row

BLANK_PADDED = ("bpchar", "character")


def _is_beyond_date(value: bytes) -> bool:
    return len(value) != 10  # a year of four digits after Christ, and finite


def _is_beyond_timestamp(value: bytes) -> bool:
    return value[4:5] != b"-" or value[-1:] == b"C"


def _is_beyond_timestamptz(value: bytes) -> bool:
    # The first and the last day of Arrow's range are left out too, so that the time zone does not matter.
    return _is_beyond_timestamp(value) or value[:10] in (b"0001-01-01", b"9999-12-31")


def _is_beyond_time(value: bytes) -> bool:
    return value[:2] == b"24"


def _is_beyond_decimal(value: bytes) -> bool:
    return value[:1] in (b"N", b"I") or value[:2] == b"-I"


BEYOND_ARROW: dict[str, Callable[[bytes], bool]] = {
    "date": _is_beyond_date,
    "timestamp": _is_beyond_timestamp,
    "timestamptz": _is_beyond_timestamptz,
    "time": _is_beyond_time,
    "decimal": _is_beyond_decimal,
}
"""Whether Arrow's type cannot represent a text of PostgreSQL; see `executors.postgres.read.beyond_arrow`."""

Texts = tuple[Any, Any, Any]
"""Texts of a column in an array of bytes: where each begins, its size, and whether it is one that matters."""


def _may_be_beyond_timestamp(data: Any, start: Any, size: Any) -> Any:
    first = data[start]
    is_extreme = ((first == ord("0")) | (first == ord("9"))) & (data[start + 1] == first)
    return (size < 5) | (data[start + 4] != ord("-")) | is_extreme | (data[start + size - 1] == ord("C"))


def _may_be_beyond_decimal(data: Any, start: Any, size: Any) -> Any:
    return (size > 1) & (data[start + 1] > ord("9"))  # also of a negative infinity


_MAY_BE_BEYOND: dict[str, Callable[[Any, Any, Any], Any]] = {
    "date": lambda data, start, size: size != 10,
    "timestamp": _may_be_beyond_timestamp,
    "timestamptz": _may_be_beyond_timestamp,
    "time": lambda data, start, size: (data[start] == ord("2")) & (data[start + 1] == ord("4")),
    "decimal": _may_be_beyond_decimal,
}
"""Which texts `BEYOND_ARROW` must look at: all for which it is true, and perhaps a few more."""


class LineWriter:
    """Writes rows with these columns. `beyond` collects the positions of columns with a value that Arrow cannot
    represent."""

    def __init__(self, columns: Sequence[DestinationColumn]) -> None:
        self.beyond: set[int] = set()
        self.padded = [i for i, column in enumerate(columns) if column.base in BLANK_PADDED]
        self._tests = [
            (i, BEYOND_ARROW[column.type.kind], _MAY_BE_BEYOND[column.type.kind])
            for i, column in enumerate(columns)
            if field_of(column).as_text and column.type.kind in BEYOND_ARROW
        ]

    def normal(self, row: Row) -> Row:
        """Return the row as COPY writes it: `char(n)` without trailing blanks."""
        for i in self.padded:
            value = row[i]
            if isinstance(value, bytes):
                row[i] = value.rstrip(b" ")
        return row

    def look(self, data: Any, columns: Sequence[Texts]) -> None:
        """Look at the values of many rows, by column. `data` is an array of bytes, with a few more after the last
        text."""
        for i, test, may_be in self._tests:
            start, size, matters = columns[i]
            if i not in self.beyond:
                found = np.flatnonzero(matters & may_be(data, start, size))
                texts = zip(start[found].tolist(), size[found].tolist(), strict=True)
                if any(test(data[first : first + length].tobytes()) for first, length in texts):
                    self.beyond.add(i)

    def line(self, row: Row) -> bytes:
        """Return a normal row as one record of CSV. Unchanged values are written as NULL."""
        for i, test, _ in self._tests:
            value = row[i]
            if isinstance(value, bytes) and test(value):
                self.beyond.add(i)
        if None not in row and UNCHANGED not in row:
            # Most rows need no look at each cell.
            joined = b'","'.join(row)  # type: ignore[arg-type]
            if joined.count(b'"') == 2 * len(row) - 2:
                return b'"' + joined + b'"\n'
        return b",".join([cell(value) for value in row]) + b"\n"


def unchanged_in(row: Row) -> list[int]:
    """Return the positions of values that an update has not changed and that the log does not contain."""
    return [i for i, value in enumerate(row) if value is UNCHANGED]
