"""Finds the starts of records in a stream of bytes, block by block, as the reader will split them.

A record ends at LF, CRLF or CR outside quotes; an empty line is not a record. A quote opens a quoted cell only at the
start of a cell; inside, two quotes are one; after the closing quote further quotes are text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import numpy as np

from executors.errors import InvalidContent

LF, CR = 10, 13
MOST_RECORD_BYTES = 64 << 20

Offsets = np.ndarray[Any, Any]
Bytes = np.ndarray[Any, Any]
NONE: Offsets = np.empty(0, dtype=np.int64)


class _CellState(Enum):
    """The state after the last byte."""

    CELL_START = 0
    IN_CELL = 1
    IN_QUOTES = 2
    AFTER_QUOTE = 3  # closed a quoted cell, unless the next byte is a quote again


class RecordFinder:
    """Gets all blocks of a file or split in order. `quote` and `delimiter` are single bytes; None where every line is a
    record."""

    def __init__(self, quote: int | None = None, delimiter: int | None = None) -> None:
        self._quote = quote
        self._state = _CellState.CELL_START
        self._fresh = True  # only a line end is before the next byte
        self._after_cr = False
        self.one_line_each = True
        """Whether every line so far is one record: no line end inside quotes and no empty line."""
        self._opens, self._regular = _bytes_before_cells(quote, delimiter)

    @property
    def in_quotes(self) -> bool:
        """Return whether a quote is open. At the end of a file, it was never closed."""
        return self._state is _CellState.IN_QUOTES

    def starts(self, block: bytes) -> Offsets:
        """Return the offsets in this block at which records begin."""
        data = np.frombuffer(block, dtype=np.uint8)
        if not data.size:
            return NONE
        toggles = self._toggles(block, data)
        ends = self._line_ends(block, data, toggles)
        self._state = self._state_after(data, toggles)
        return self._starts_after(ends, data)

    def _line_ends(self, block: bytes, data: Bytes, toggles: Offsets) -> Offsets:
        is_end = data == LF
        if b"\r" in block:
            is_end |= data == CR
        ends: Offsets = np.flatnonzero(is_end)
        was_inside = self._state is _CellState.IN_QUOTES
        outside: Offsets = NONE if was_inside else ends
        if toggles.size:
            outside = ends[(np.searchsorted(toggles, ends) + was_inside) % 2 == 0]
        self.one_line_each &= len(outside) == len(ends)
        return outside

    def _starts_after(self, ends: Offsets, data: Bytes) -> Offsets:
        """Return the offsets of records: the byte after a line end, unless that byte is a line end too."""
        size = data.size
        candidates: Offsets = np.concatenate(([0], ends + 1)) if self._fresh else ends + 1
        self._fresh = bool(candidates.size and candidates[-1] == size)
        following = np.append(ends, size)[len(ends) + 1 - len(candidates) :]
        ends_itself = candidates == following
        self._look_for_blank_lines(candidates[ends_itself & (candidates < size)], data)
        begins: Offsets = candidates[~ends_itself]
        return begins

    def _look_for_blank_lines(self, at: Offsets, data: Bytes) -> None:
        """A line end right after another one is the second half of CRLF, or ends an empty line."""
        if at.size:
            after_cr = np.where(at > 0, data[at - 1] == CR, self._after_cr)
            self.one_line_each &= bool((after_cr & (data[at] == LF)).all())
        self._after_cr = bool(data[-1] == CR)

    def _toggles(self, block: bytes, data: Bytes) -> Offsets:
        """Return the offsets of quotes that open or close a quoted cell."""
        if self._quote is None or self._quote not in block:
            return NONE
        quotes = np.flatnonzero(data == self._quote)
        return quotes if self._are_regular(data, quotes) else self._exact_toggles(block, quotes)

    def _are_regular(self, data: Bytes, quotes: Offsets) -> bool:
        """Return whether each quote that opens by parity is at the start of a cell or doubles the quote before it."""
        opening = quotes[1 if self.in_quotes else 0 :: 2]
        if opening.size and opening[0] == 0:
            if self._state is _CellState.IN_CELL:
                return False
            opening = opening[1:]
        return bool(self._regular[data[opening - 1]].all())

    def _exact_toggles(self, block: bytes, quotes: Offsets) -> Offsets:
        inside = self.in_quotes
        closed = -1 if self._state is _CellState.AFTER_QUOTE else -2
        toggles = []
        for at in quotes.tolist():
            if inside:
                inside, closed = False, at
            elif at == closed + 1 or self._opens_cell(block, at):
                inside = True
            else:
                continue
            toggles.append(at)
        return np.array(toggles, dtype=np.int64)

    def _opens_cell(self, block: bytes, at: int) -> bool:
        return bool(self._opens[block[at - 1]]) if at else self._state is _CellState.CELL_START

    def _state_after(self, data: Bytes, toggles: Offsets) -> _CellState:
        if (toggles.size + self.in_quotes) % 2:
            return _CellState.IN_QUOTES
        if toggles.size and toggles[-1] == data.size - 1:
            return _CellState.AFTER_QUOTE
        return _CellState.CELL_START if self._opens[data[-1]] else _CellState.IN_CELL


@lru_cache
def _bytes_before_cells(quote: int | None, delimiter: int | None) -> tuple[Bytes, Bytes]:
    """Return for each byte whether a cell may begin after it, and whether a quote may stand there."""
    opens = np.zeros(256, dtype=bool)
    opens[[LF, CR] if delimiter is None else [LF, CR, delimiter]] = True
    regular = opens.copy()
    if quote is not None:
        regular[quote] = True
    return opens, regular


@dataclass(frozen=True, slots=True)
class Chunk:
    """Complete records. `starts` holds the offset of each in `data`."""

    data: bytes
    starts: Offsets

    def records(self) -> Iterator[bytes]:
        """Yield the bytes of each record without its line end."""
        for start, end in pairwise([*self.starts.tolist(), len(self.data)]):
            yield self.data[start:end].rstrip(b"\r\n")

    def pieces(self, most: int) -> Iterator[Chunk]:
        """Split into chunks of at most `most` records."""
        if len(self.starts) <= most:
            yield self
            return
        for at in range(0, len(self.starts), most):
            starts = self.starts[at : at + most]
            end = self.starts[at + most] if at + most < len(self.starts) else len(self.data)
            yield Chunk(self.data[starts[0] : end], starts - starts[0])

    def record(self, index: int) -> bytes:
        """Return the bytes of one record without its line end."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.data)
        return self.data[self.starts[index] : end].rstrip(b"\r\n")


def whole_records(blocks: Iterator[bytes], finder: RecordFinder, name: str) -> Iterator[Chunk]:
    """Cut blocks at the starts of records. Raises Terminal for a record above the limit and for an unclosed quote."""
    pending, pending_size, starts = [], 0, NONE
    for block, is_last in _with_last(blocks):
        found = finder.starts(block) + pending_size
        pending.append(block)
        pending_size += len(block)
        starts = np.concatenate((starts, found))
        cut = int(starts[-1]) if len(starts) else 0
        is_too_long = pending_size - cut > MOST_RECORD_BYTES
        if len(starts) > 1 and (not is_last or is_too_long or finder.in_quotes):
            data = b"".join(pending)
            yield Chunk(data[:cut], starts[:-1])
            pending, pending_size, starts = [data[cut:]], len(data) - cut, np.zeros(1, dtype=np.int64)
        if is_too_long:
            raise record_too_long(name)
    if finder.in_quotes:
        raise quote_not_closed(name)
    if len(starts):
        yield Chunk(b"".join(pending), starts)


def _with_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each block, and whether it is the last one: its last record is complete, and needs no chunk of its own."""
    for block, following in pairwise(chain(blocks, (None,))):
        if block is not None:
            yield block, following is None


def record_too_long(name: str) -> InvalidContent:
    return InvalidContent(
        "source.record_too_long",
        f"A record of {name} is longer than {MOST_RECORD_BYTES >> 20} MB.",
        hint="Check for an unclosed quote, or a wrong delimiter, quote or line end in the format's settings.",
    )


def quote_not_closed(name: str, record: int | None = None) -> InvalidContent:
    where = "" if record is None else f" of record {record}"
    return InvalidContent(
        "source.quote_not_closed",
        f"{name} ends inside a quoted cell{where}: a quote is not closed.",
        hint="The file may be truncated. Send it again. Or set the format's quote to a character that the file does "
        "not use.",
    )
