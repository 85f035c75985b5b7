"""Pages of the columns of a wide source, and hidden form fields for the other columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from executors.api import Cell
from flowapp.starting.answers import ON, Answers, Choice
from flowapp.starting.columns import Column, ColumnRow
from ir.words import counted

MOST_SHOWN = 100
"""Columns per page: a row of the form has about 60 elements, and browsers take seconds for 100,000."""
WITH_NOTES = "notes"
PARTS = ("target", "type", "formats", "separators", "included", "key")
"""The form fields of a column, without their prefix."""


@dataclass(frozen=True, slots=True)
class ColumnPage:
    """A page of columns. `rows` are displayed. `shows` and `find` are the values of the fields that select them.
    `hidden` are the changed fields of the other columns, as (name, value), for hidden inputs. `unseen_errors` are the
    names of other columns with an error."""

    rows: list[ColumnRow]
    shows: str
    find: str
    choices: tuple[Choice, ...]
    hidden: list[tuple[str, str]]
    unseen_errors: list[str]

    @property
    def is_part(self) -> bool:
        return bool(self.choices)

    def cells(self, rows: Sequence[Sequence[tuple[Cell, Column]]]) -> list[list[tuple[Cell, Column]]]:
        """Return the cells of the displayed columns, for these rows of the file."""
        shown = {row.column.prefix for row in self.rows}
        return [[(cell, column) for cell, column in row if column.prefix in shown] for row in rows]


def page_of_columns(answers: Answers, rows: list[ColumnRow]) -> ColumnPage:
    """Return the page that the form selects; the first if it selects none that exists."""
    if len(rows) <= MOST_SHOWN:
        return ColumnPage(rows, "", "", (), [], [])
    find = answers.data.get("find", "").strip()
    pages = dict(_pages(rows, find))
    choices = tuple(Choice(value, label) for value, (label, _) in pages.items())
    asked = answers.data.get("shows", "")
    shows = asked if asked in pages else next(iter(pages))
    shown = pages[shows][1]
    prefixes = {row.column.prefix for row in shown}
    others = [row for row in rows if row.column.prefix not in prefixes]
    hidden = [field for row in others for field in _hidden_fields(answers, row)]
    return ColumnPage(shown, shows, find, choices, hidden, [row.column.name for row in others if _has_error(row)])


def _pages(rows: Sequence[ColumnRow], find: str) -> Iterator[tuple[str, tuple[str, list[ColumnRow]]]]:
    """Yield the pages by the value that selects them, with their labels."""
    found = [row for row in rows if find.casefold() in f"{row.column.name}\n{row.column.target_name}".casefold()]
    of = f"{len(found):,}" if not find else f"{len(found):,} found"
    for first in range(0, max(1, len(found)), MOST_SHOWN):
        part = found[first : first + MOST_SHOWN]
        yield str(first), (f"{min(first + 1, len(found)):,}–{first + len(part):,} of {of}", part)
    if noted := [row for row in rows if row.misfits or row.problems or row.diagnostics]:
        part = noted[:MOST_SHOWN]
        label = counted(len(noted), "column") if len(part) == len(noted) else f"The first {len(part)} columns"
        yield WITH_NOTES, (f"{label} with notes", part)


def _has_error(row: ColumnRow) -> bool:
    return any(found.severity == "error" for found in row.diagnostics)


def _hidden_fields(answers: Answers, row: ColumnRow) -> Iterator[tuple[str, str]]:
    """Yield the changed fields of a column that is not displayed. Its part in the key is sent even if unchanged,
    because a change of one key column makes the whole key a choice of the user."""
    prefix = row.column.prefix
    changed = {name: answers.given(name) for name in (f"{prefix}-{part}" for part in PARTS)}
    fields = {name: value for name, value in changed.items() if value is not None}
    yield from (("given", name) for name in fields)
    if row.is_key:
        fields.setdefault(f"{prefix}-key", ON)
    if fields:
        yield f"{prefix}-name", row.column.name
    for name, value in fields.items():
        yield f"was-{name}", value
        if value:
            yield name, value
