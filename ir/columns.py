"""The columns of rows at each point of a pipeline, as far as the document determines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns known to be there, in order, and known not to be. Unless `closed`, there may be more: `seen` are those
    that the rows have had so far, if anybody has looked."""

    present: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    closed: bool = False
    seen: tuple[str, ...] | None = None

    def has(self, name: str) -> bool | None:
        """Whether there is such a column; None if the document does not tell."""
        if name in self.present:
            return True
        return False if self.closed or name in self.absent else None

    def was_seen(self, name: str) -> bool | None:
        """The same of the rows so far; None if nobody has looked, or nobody needs to."""
        return name in self.seen if self.has(name) is None and self.seen is not None else None

    def selected(self, names: Iterable[str]) -> Self:
        return type(self)(tuple(names), closed=True)

    def without(self, names: Iterable[str]) -> Self:
        gone = frozenset(names)
        seen = self.seen and tuple(n for n in self.seen if n not in gone)
        present = tuple(n for n in self.present if n not in gone)
        return replace(self, present=present, absent=self.absent | gone, seen=seen)

    def with_added(self, names: Iterable[str]) -> Self:
        added = tuple(n for n in names if n not in self.present)
        return replace(self, present=self.present + added, absent=self.absent - frozenset(added))

    def renamed(self, names: Mapping[str, str]) -> Self:
        """All at once, so that names can be exchanged."""
        renamed_columns = tuple(names.get(n, n) for n in self.present)
        new = tuple(n for n in names.values() if n not in renamed_columns)
        gone = (self.absent | names.keys()) - frozenset((*renamed_columns, *new))
        seen = self.seen and tuple(names.get(n, n) for n in self.seen)
        return replace(self, present=renamed_columns + new, absent=gone, seen=seen)
