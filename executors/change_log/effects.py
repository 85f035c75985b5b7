"""What the changes of a window come to: last rows, deleted keys, and rows that lack values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Key = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class NetEffect:
    """What a window does. `rows` of the file are inserted or updated and `deleted` keys are deleted; `replaced` changes
    had a later change of their key. With `truncates`, all rows of the table are removed first. `incomplete`
    rows lack values that their updates have not changed."""

    rows: int = 0
    deleted: int = 0
    replaced: int = 0
    incomplete: int = 0
    truncates: bool = False

    @property
    def changes(self) -> int:
        """The number of changes read. A change of a key counts as two: a deletion and an insertion."""
        return self.rows + self.deleted + self.replaced


@dataclass(frozen=True, slots=True)
class IncompleteRow:
    """A row of a change whose values in `columns` (positions) are those that the target has for `key`."""

    change: int
    key: Key
    columns: tuple[int, ...]


class Effects:
    """Receives the results of a reduction."""

    def rows(self, lines: Iterator[tuple[int, bytes]]) -> None:
        """Take the last lines of their keys, each with the number of its change."""

    def delete(self, key: Key) -> None:
        """Take the key of a row that no longer exists."""

    def add_incomplete(self, row: IncompleteRow) -> None:
        """Take a row without values that its update has not changed."""


def pack_key(key: Key) -> bytes:
    """Return the key as one value. Different keys have different values."""
    if len(key) == 1:
        return len(key[0]).to_bytes(4) + key[0]
    return b"".join([len(part).to_bytes(4) + part for part in key])


def unpack_key(packed: bytes) -> Key:
    parts: list[bytes] = []
    at = 0
    while at < len(packed):
        end = at + 4 + int.from_bytes(packed[at : at + 4])
        parts.append(packed[at + 4 : end])
        at = end
    return tuple(parts)
