"""The columns of rows at each point of a pipeline, as far as the document determines them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns that are known to exist, in order (`present`), and columns that are known not to exist (`absent`). Unless
    `closed`, there may be others; `seen` are the columns of the rows so far, if known. `types` maps columns to their
    types if the document states them."""

    present: tuple[str, ...] = ()
    absent: frozenset[str] = frozenset()
    closed: bool = False
    seen: tuple[str, ...] | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool | None:
        """Whether the column exists; None if the document does not determine it."""
        if name in self.present:
            return True
        return False if self.closed or name in self.absent else None

    def was_seen(self, name: str) -> bool | None:
        """Whether the rows so far have the column; None if unknown or not needed."""
        return name in self.seen if self.has(name) is None and self.seen is not None else None

    def selected(self, names: Iterable[str]) -> Self:
        selected = tuple(names)
        return type(self)(selected, closed=True, types={n: self.types[n] for n in selected if n in self.types})

    def without(self, names: Iterable[str]) -> Self:
        gone = frozenset(names)
        seen = self.seen and tuple(n for n in self.seen if n not in gone)
        present = tuple(n for n in self.present if n not in gone)
        types = {n: kind for n, kind in self.types.items() if n not in gone}
        return replace(self, present=present, absent=self.absent | gone, seen=seen, types=types)

    def with_added(self, names: Iterable[str]) -> Self:
        """Return these columns with new values in some of them, whose types the document does not state."""
        new = dict.fromkeys(names)
        added = tuple(n for n in new if n not in self.present)
        types = {n: kind for n, kind in self.types.items() if n not in new}
        return replace(self, present=self.present + added, absent=self.absent - frozenset(added), types=types)

    def cast(self, types: Mapping[str, str]) -> Self:
        return replace(self, types={**self.types, **types})

    def renamed(self, names: Mapping[str, str]) -> Self:
        """Rename columns simultaneously, so that names can be exchanged."""
        renamed_columns = tuple(names.get(n, n) for n in self.present)
        new = tuple(n for n in names.values() if n not in renamed_columns)
        gone = (self.absent | names.keys()) - frozenset((*renamed_columns, *new))
        seen = self.seen and tuple(names.get(n, n) for n in self.seen)
        types = {n: kind for n, kind in self.types.items() if n not in names and n not in new}
        types |= {names[n]: kind for n, kind in self.types.items() if n in names}
        return replace(self, present=renamed_columns + new, absent=gone, seen=seen, types=types)
