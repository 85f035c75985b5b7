"""Sorting of lists by column. The URL contains the order: `?sort=queued`, or `?sort=-queued` for the opposite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column by which a list can be sorted. `order` are the fields of its default order, as for `take_page`;
    `starts_high` means that this order begins with the highest value."""

    name: str
    order: tuple[str, ...]
    starts_high: bool = False


@dataclass(frozen=True, slots=True)
class Sorting:
    """The selected column, in its default order or reversed. `is_default` means that the user has not sorted the
    list."""

    column: Column
    is_reversed: bool = False
    is_default: bool = False

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(map(_turned, self.column.order)) if self.is_reversed else self.column.order

    @property
    def text(self) -> str:
        return f"-{self.column.name}" if self.is_reversed else self.column.name

    def next_of(self, name: str) -> str:
        """Return the sort parameter of a column's header: its default order first, then the opposite."""
        return f"-{name}" if self.text == name else name

    def aria_of(self, name: str) -> str:
        """Return the value of `aria-sort` for the header of a column."""
        if name != self.column.name:
            return "none"
        return "descending" if self.column.starts_high is not self.is_reversed else "ascending"


def read_sorting(text: str, columns: Sequence[Column]) -> Sorting:
    """Return the sorting in a URL; the first column if it names none of them."""
    known = {column.name: column for column in columns}
    column = known.get(text.removeprefix("-"))
    if column is None:
        return Sorting(columns[0], is_default=True)
    return Sorting(column, text.startswith("-"), is_default=text == columns[0].name)


def _turned(field: str) -> str:
    return field[1:] if field.startswith("-") else f"-{field}"
