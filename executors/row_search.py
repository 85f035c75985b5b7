"""The results of a search for a row by the values of some of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SECONDS, MOST_FOUND = 5, 20
"""The time limit of a search, and the most rows that it returns."""
Row = Mapping[str, Any]

SourceKey = tuple[str, Mapping[str, str]]
"""A source node, or "" for all, and the values of some of its columns."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search. `trouble` says why the search was impossible or incomplete; then nothing is known.

    `lacks` are columns for the origin of rows that the table was created without.
    """

    rows: tuple[Row, ...] = ()
    has_more: bool = False
    trouble: str = ""
    lacks: tuple[str, ...] = ()


NO_TABLE = SearchResult(trouble="The table does not exist.")
UNREADABLE = SearchResult(trouble="A value cannot be read as its column's type.")
TOO_LONG = f"The search exceeded {SECONDS} s."


def unknown_columns(missing: list[str], known: Mapping[str, object]) -> SearchResult:
    return SearchResult(trouble=f"It has no column {', '.join(missing)}; it has {', '.join(known)}.")


@dataclass(frozen=True, slots=True)
class Origin:
    """The recorded origin of a found row."""

    run: str
    record: int
