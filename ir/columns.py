"""What a document alone tells about the columns that rows have at a point of their way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns known to be there, in order, and known not to be. Unless `closed`, there may be more."""

    present: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    closed: bool = False

    def has(self, name: str) -> bool | None:
        """Whether there is such a column; None if the document does not tell."""
        if name in self.present:
            return True
        return False if self.closed or name in self.absent else None

    def selected(self, names: Iterable[str]) -> Self:
        return type(self)(tuple(names), closed=True)

    def without(self, names: Iterable[str]) -> Self:
        gone = frozenset(names)
        return type(self)(tuple(n for n in self.present if n not in gone), self.absent | gone, self.closed)

    def with_added(self, names: Iterable[str]) -> Self:
        added = tuple(n for n in names if n not in self.present)
        return type(self)(self.present + added, self.absent - frozenset(added), self.closed)

    def renamed(self, names: Mapping[str, str]) -> Self:
        """All at once, so that names can be exchanged."""
        kept = tuple(names.get(n, n) for n in self.present)
        new = tuple(n for n in names.values() if n not in kept)
        gone = (self.absent | names.keys()) - frozenset((*kept, *new))
        return type(self)(kept + new, gone, self.closed)
