"""The values of rejected rows, which are raw source data, for those who may see them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from executors.target_database import SUPERSEDED, Entry, RejectedRow
from flowapp.accounts.roles import may_see_values


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a rejected row. `text` is None for NULL; `failing` says that a rule about this field failed, `fixed`
    what somebody has put in its place, and `is_absent` that the row lacks it, as with a column that a transform made.
    """

    name: str
    text: str | None
    failing: bool
    is_fixed: bool = False
    fixed: str | None = None
    is_absent: bool = False


@dataclass(frozen=True, slots=True)
class GridCell:
    """A cell as it may be typed over. `was` is what the source gave, if somebody has fixed it since; NULL is None.
    `is_entered` says that `value` could not be saved."""

    name: str
    value: str | None
    was: str | None
    is_fixed: bool
    failing: bool
    label: str
    is_entered: bool = False

    @property
    def has_lines(self) -> bool:
        """A one-line field would take the line breaks out."""
        return "\n" in (self.value or "") or "\r" in (self.value or "")

    def is_other(self, typed: str) -> bool:
        """Whether what a form sent is another value. Browsers send every line break as CR LF; an empty field is NULL
        where there was one."""
        return _lines(typed) != _lines(self.value or "")

    def meant(self, typed: str) -> str | None:
        """What to put in for what a form sent: who empties a cell that the source gave as NULL wants the NULL back."""
        return None if typed == "" and self.was is None else typed

    def with_typed(self, given: Mapping[str, str], key: str) -> GridCell:
        """The same with what a form that was refused holds for it."""
        typed = given.get(f"cell|{key}|{self.name}")
        return self if typed is None or not self.is_other(typed) else replace(self, value=typed, is_entered=True)


@dataclass(frozen=True, slots=True)
class GridRow:
    """A rejected row for fixing: by one of its entries. `failing` are the fields that its rule is about."""

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
    """Why nobody can fix or load the row, "" if somebody can."""
    if row.status in ("ignored", "replayed", SUPERSEDED):
        return row.status
    return "" if row.disposition == "dropped" else row.disposition


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def grid_row(entry: Entry, failing: frozenset[str] = frozenset()) -> GridRow:
    return GridRow(entry, f"{entry['runId']}:{entry['rowId']}", failing)


def entry_document(entry: Entry, role: str) -> dict[str, Any]:
    """An entry for the API; rows are null where the role does not show values, and `valuesHidden` says so."""
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
"""What programs need not know of an entry."""


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def cells_of(entries: list[Entry], failing: Set[str]) -> list[Cell]:
    """The fields of a row with all rules it failed, failing ones first; a field that the row lacks has no value."""
    row = entries[0]["row"]
    fields = row if isinstance(row, dict) else {"": row}
    fixed = entries[0].get("fixedRow") or {}
    names = [*fields, *sorted((failing | fixed.keys()) - fields.keys())]
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


def text_of(value: Any) -> str | None:
    """A value of a row as people read it; None for NULL."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
