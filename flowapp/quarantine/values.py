"""Values of rejected rows, which are raw source data, for roles that may see them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from executors.target_database import GROUP_KEY, SUPERSEDED, Entry, RejectedRow
from flowapp.accounts.roles import may_see_values


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a rejected row. `text` is None for NULL. `failing` means that a rule about this field failed, `fixed`
    is the value of a fix, and `is_absent` means that the row lacks the field, such as a column made by a transform."""

    name: str
    text: str | None
    failing: bool
    is_fixed: bool = False
    fixed: str | None = None
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class GridCell:
    """An editable cell. `was` is the value from the source if it was fixed since; None is NULL. `is_entered` means that
    `value` was entered and could not be saved."""

    name: str
    value: str | None
    was: str | None
    is_fixed: bool
    failing: bool
    label: str
    is_entered: bool = False

    @property
    def has_lines(self) -> bool:
        """Return whether the value has line breaks, which a one-line field would remove."""
        return "\n" in (self.value or "") or "\r" in (self.value or "")

    def is_other(self, typed: str) -> bool:
        """Return whether a submitted value differs. Browsers send every line break as CR LF, and NULL as an empty
        field."""
        return _lines(typed) != _lines(self.value or "")

    def meant(self, typed: str) -> str | None:
        """Return the value to store: an emptied cell is NULL if the source had NULL."""
        return None if typed == "" and self.was is None else typed

    def with_typed(self, given: Mapping[str, str], key: str) -> GridCell:
        """Return the cell with the value that a refused form submitted."""
        typed = given.get(f"cell|{key}|{self.name}")
        return self if typed is None or not self.is_other(typed) else replace(self, value=typed, is_entered=True)


@dataclass(frozen=True, slots=True)
class GridRow:
    """A rejected row in the grid, identified by one of its entries. `failing` are the fields of its rule."""

    entry: Entry
    key: str
    failing: frozenset[str] = frozenset()

    def cell(self, name: str) -> GridCell:
        row, fixed = self.entry["row"], self.entry["fixedRow"]
        before = text_of(row.get(name)) if isinstance(row, dict) else None
        now = text_of(fixed.get(name)) if fixed else before
        label = f"{name} in record {self.entry['sourceRecord']} of {self.entry['sourceFile']}"
        return GridCell(name, now, before, bool(fixed) and now != before, name in self.failing, label)

    @property
    def can_fix(self) -> bool:
        return self.entry["disposition"] == "dropped" and self.entry["status"] in ("open", "fixed")


def standing_of(row: RejectedRow) -> str:
    """Return the reason why the row cannot be fixed or loaded, "" if it can."""
    if row.status in ("ignored", "replayed", SUPERSEDED):
        return row.status
    return "" if row.disposition == "dropped" else row.disposition


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def grid_row(entry: Entry, failing: frozenset[str] = frozenset()) -> GridRow:
    return GridRow(entry, f"{entry['runId']}:{entry['rowId']}", failing)


def entry_document(entry: Entry, role: str) -> dict[str, Any]:
    """Return an entry for the API. Rows are null if the role does not see values; `valuesHidden` is then true."""
    seen = may_see_values(role)
    shown = {name: value for name, value in entry.items() if name not in _INTERNAL}
    values = {name: entry[name] if seen else None for name in ("row", "fixedRow")}
    return {
        **shown,
        **{name: _time(entry[name]) for name in ("createdAt", "decidedAt")},
        **values,
        "valuesHidden": not seen,
    }


_INTERNAL = frozenset({"table_name"})
"""Columns of an entry that the API does not return."""


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def cells_of(entries: list[Entry], failing: Set[str]) -> list[Cell]:
    """Return the fields of a row, failing ones first. `entries` are the entries of the row; a field that the row lacks
    has no value."""
    row = entries[0]["row"]
    fields = row if isinstance(row, dict) else {"": row}
    fixed = entries[0].get("fixedRow") or {}
    names = [*(name for name in fields if name != GROUP_KEY), *sorted((failing | fixed.keys()) - fields.keys())]
    names.sort(key=lambda name: name not in failing)
    return [
        Cell(
            name,
            before := text_of(fields.get(name)),
            name in failing,
            name in fixed and text_of(fixed[name]) != before,
            text_of(fixed.get(name)),
            name not in fields,
        )
        for name in names
    ]


@dataclass(frozen=True, slots=True)
class GroupOrigin:
    """How many rows of the source a group has, and the records of the first ones by file."""

    rows: int
    records: Mapping[str, list[int]]


def group_of(entry: Entry) -> GroupOrigin | None:
    """The origin of a rejected group; None for rows, and for groups that were stored without it."""
    row = entry["row"]
    if not isinstance(row, dict) or GROUP_KEY not in row:
        return None
    records: dict[str, list[int]] = {}
    for first in row[GROUP_KEY]["first"]:
        records.setdefault(first["file"], []).append(first["record"])
    return GroupOrigin(row[GROUP_KEY]["rows"], records)


def text_of(value: Any) -> str | None:
    """Return a value of a row as text; None for NULL."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
