"""The table of a family of kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

Kind = TypeVar("Kind")


class KindTable(Mapping[str, Kind]):
    """Kinds by name, in the given order. Refuses duplicate names; a lookup of an unknown name lists the known ones."""

    def __init__(self, family: str, kinds: Iterable[tuple[str, Kind]]) -> None:
        self.family = family
        self._kinds: dict[str, Kind] = {}
        for name, kind in kinds:
            if name in self._kinds:
                raise ValueError(f"there are two kinds {name!r} of {family}")
            self._kinds[name] = kind

    def __getitem__(self, name: str) -> Kind:
        try:
            return self._kinds[name]
        except KeyError:
            raise KeyError(f"no {self.family} {name!r}; known are {', '.join(self._kinds)}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._kinds

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)
