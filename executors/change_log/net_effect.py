"""Reduces the changes of a window to the last state of each row, with bounded memory.

Lines of rows go to a file, and an entry for each change to a temporary SQLite database, which spills to the disk and
sorts there. One pass over the entries by key then decides which line of each key is the last, and writes what the load
needs beside them: deleted keys, and rows of which the log lacks large values that did not change.
"""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import IO, Self

from executors.change_log.effects import Effects, IncompleteRow, Key, NetEffect, pack_key, unpack_key
from executors.change_log.lines import split_line

FRAME = struct.Struct("!IQ")
"""Precedes each line of a file: its length, and the number of its change, which begins at 1."""

_BATCH = 5_000
_COPIED_BYTES = 1 << 20

Mark = tuple[int, int, int]
"""The number of changes, the bytes of the lines, and the change after the last TRUNCATE, 0 without one."""
_SET, _DROPPED = 0, 1
"""Kinds of entries: the row has the values of a line; it no longer exists."""

_Entry = tuple[bytes, int, int, int, str | None, bytes | None]
"""The key, the number of the change, the kind, the offset of the line, the positions of missing values, and the key
from which the row has come."""


@dataclass(slots=True)
class _Row:
    """The state of a row while the entries of its key are read. `change` is None if it does not exist. `missing` are
    the columns whose values are only in the target, in the row with the key `origin`; `found` are those whose values
    are in the lines at these offsets."""

    change: int | None = None
    offset: int = 0
    missing: frozenset[int] = frozenset()
    found: Mapping[int, int] = field(default_factory=dict)
    origin: bytes = b""


class Changes:
    """Collects the changes of a window. `begin` and `undo` remove those of a transaction again, `mark` and `undo_to`
    those since a savepoint."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: IO[bytes] = (folder / "changes").open("x+b", buffering=_COPIED_BYTES)
        # Without a name, SQLite keeps a database in memory until its cache is full, then in a file that it deletes.
        self._entries = sqlite3.connect("", isolation_level=None)
        self._entries.executescript(
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000; PRAGMA temp_store = FILE;"
            "CREATE TABLE e (key BLOB, change INTEGER, kind INTEGER, offset INTEGER, missing TEXT, origin BLOB);"
            "CREATE TABLE filled (change INTEGER PRIMARY KEY, found TEXT)"
        )
        self._waiting: list[_Entry] = []
        self._change = self._size = self._truncated = 0
        self._begun = (0, 0, 0)
        self._must_look_back = self._has_missing = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()
        self._lines.close()

    @property
    def count(self) -> int:
        """The number of changes so far."""
        return self._change

    @property
    def size(self) -> int:
        """The bytes of the lines so far."""
        return self._size

    @property
    def is_empty(self) -> bool:
        return not self._change and not self._truncated

    def begin(self) -> None:
        """Begin a transaction."""
        self._begun = self.mark()

    def undo(self) -> None:
        """Remove what came since `begin`."""
        self.undo_to(self._begun)

    def mark(self) -> Mark:
        """Return a mark of what has come so far."""
        return (self._change, self._size, self._truncated)

    def undo_to(self, mark: Mark) -> None:
        """Remove what came since a mark."""
        self._change, self._size, self._truncated = mark
        self._flush()
        self._entries.execute("DELETE FROM e WHERE change > ?", [self._change])
        self._lines.seek(self._size)
        self._lines.truncate()

    def set_row(self, key: Key, line: bytes, missing: Sequence[int] = (), moved_from: Key | None = None) -> None:
        """Note that a row has these values now, except those `missing`. `moved_from` is its key before."""
        self._change += 1
        packed, origin = pack_key(key), None if moved_from is None else pack_key(moved_from)
        if origin is not None:
            self._add((origin, self._change, _DROPPED, 0, None, None))
            self._change += 1
            self._must_look_back |= bool(missing)
        self._has_missing |= bool(missing)
        listed = ",".join(map(str, missing)) if missing else None
        self._add((packed, self._change, _SET, self._size, listed, origin))
        self._lines.write(FRAME.pack(len(line), self._change) + line)
        self._size += FRAME.size + len(line)

    def set_rows(self, keys: Sequence[bytes], lines: Sequence[bytes | None]) -> None:
        """Note that rows have these values now, or were deleted where there is no line. Keys are packed."""
        first = change = self._change + 1
        size, kinds, offsets, frames = self._size, list[int](), list[int](), list[bytes]()
        for line in lines:
            offsets.append(size)
            if line is None:
                kinds.append(_DROPPED)
            else:
                kinds.append(_SET)
                frames += (FRAME.pack(len(line), change), line)
                size += FRAME.size + len(line)
            change += 1
        self._lines.write(b"".join(frames))
        self._waiting += zip(keys, range(first, change), kinds, offsets, repeat(None), repeat(None))
        self._change, self._size = change - 1, size
        if len(self._waiting) >= _BATCH:
            self._flush()

    def drop_row(self, key: Key) -> None:
        """Note that a row was deleted."""
        self._change += 1
        self._add((pack_key(key), self._change, _DROPPED, 0, None, None))

    def truncate(self) -> None:
        """Note that all rows were removed."""
        self._truncated = self._change + 1

    def _add(self, entry: _Entry) -> None:
        self._waiting.append(entry)
        if len(self._waiting) >= _BATCH:
            self._flush()

    def _flush(self) -> None:
        # One transaction a batch: each statement in its own would cost ten times as much.
        self._entries.execute("BEGIN")
        self._entries.executemany("INSERT INTO e VALUES (?, ?, ?, ?, ?, ?)", self._waiting)
        self._entries.execute("COMMIT")
        self._waiting.clear()

    # --- reduction --------------------------------------------------------------------------------------------

    def reduce(self, effects: Effects) -> NetEffect:
        """Give the last line of each key, and everything else that the load needs, to `effects`."""
        self._flush()
        self._lines.flush()
        self._entries.execute("BEGIN")
        if self._must_look_back:
            self._entries.execute("CREATE INDEX by_key ON e (key, change)")
        is_last = bytearray(self._change // 8 + 1)
        rows = deleted = incomplete = 0
        for key, change in self._last_changes():
            if change is None:
                deleted += 1
                effects.delete(unpack_key(key))
            else:
                rows += 1
                is_last[change >> 3] |= 1 << (change & 7)
        for key, row in self._last_states():
            if row.change is None:
                # Also a row that the window has inserted. Deleting a row that is not there does nothing.
                deleted += 1
                effects.delete(unpack_key(key))
                continue
            rows += 1
            is_last[row.change >> 3] |= 1 << (row.change & 7)
            if row.missing:
                incomplete += 1
                effects.add_incomplete(IncompleteRow(row.change, unpack_key(row.origin), tuple(sorted(row.missing))))
            if row.found:
                self._entries.execute("INSERT INTO filled VALUES (?, ?)", [row.change, json.dumps(row.found)])
        effects.rows(self._last_lines(is_last))
        return NetEffect(rows, deleted, self._change - rows - deleted, incomplete, self._truncated > 0)

    def _last_changes(self) -> Iterator[tuple[bytes, int | None]]:
        """Yield the last change of each key, None if it has deleted the row. Nothing if rows have missing values, which
        earlier changes may have."""
        if self._has_missing:
            return
        # With max(), SQLite returns the other columns of the row that has the maximum.
        yield from self._entries.execute(
            "SELECT key, CASE WHEN kind = ? THEN last END FROM"
            " (SELECT key, kind, max(change) AS last FROM e WHERE change >= ? GROUP BY key)",
            [_SET, self._truncated],
        )

    def _last_states(self) -> Iterator[tuple[bytes, _Row]]:
        if not self._has_missing:
            return
        found = self._entries.execute(
            "SELECT key, change, kind, offset, missing, origin FROM e WHERE change >= ? ORDER BY key, change",
            [self._truncated],
        )
        for key, entries in groupby(found, itemgetter(0)):
            yield key, self._state(entries) or _Row()

    def _state(self, entries: Iterable[_Entry]) -> _Row | None:
        """Return the state of a row after these entries of its key."""
        row: _Row | None = None
        for key, change, kind, offset, missing, origin in entries:
            if kind == _DROPPED:
                row = _Row()
            elif missing is None:
                row = _Row(change, offset)
            else:
                before = row if origin is None else self._before(origin, change)
                row = _merged(before, change, offset, frozenset(map(int, missing.split(","))), origin or key)
        return row

    def _before(self, key: bytes, change: int) -> _Row | None:
        """Return the state of a row before the change that moved it to another key; None if the window has no earlier
        change of it. The deletion at the old key is the entry before that change."""
        entries = self._entries.execute(
            "SELECT key, change, kind, offset, missing, origin FROM e WHERE key = ? AND change >= ? AND change < ?"
            " ORDER BY change",
            [key, self._truncated, change - 1],
        ).fetchall()
        return self._state(entries)

    def _last_lines(self, is_last: bytearray) -> Iterator[tuple[int, bytes]]:
        """Yield the last lines of their keys, in order, with the values that earlier lines have."""
        filled = self._entries.execute("SELECT change, found FROM filled ORDER BY change")
        next_filled = filled.fetchone()
        with (self._folder / "changes").open("rb", buffering=_COPIED_BYTES) as lines:
            while header := lines.read(FRAME.size):
                size, change = FRAME.unpack(header)
                line = lines.read(size)
                if not is_last[change >> 3] & 1 << (change & 7):
                    continue
                if next_filled is not None and next_filled[0] == change:
                    line = self._with_values(line, json.loads(next_filled[1]))
                    next_filled = filled.fetchone()
                yield change, line

    def _with_values(self, line: bytes, found: Mapping[str, int]) -> bytes:
        cells = split_line(line)
        for column, offset in found.items():
            cells[int(column)] = self._line_at(offset)[int(column)]
        return b",".join(cells) + b"\n"

    def _line_at(self, offset: int) -> list[bytes]:
        self._lines.seek(offset)
        size, _ = FRAME.unpack(self._lines.read(FRAME.size))
        return split_line(self._lines.read(size))


def _merged(before: _Row | None, change: int, offset: int, missing: frozenset[int], origin: bytes) -> _Row:
    """Return a row after an update without some values: they are in earlier lines of the window, or in the target."""
    if before is None or before.change is None:
        return _Row(change, offset, missing, {}, origin)
    found = {c: before.found.get(c, before.offset) for c in missing if c not in before.missing}
    return _Row(change, offset, missing & before.missing, found, before.origin)
