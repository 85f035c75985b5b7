"""Who may see what stands in rejected rows: they are raw source data."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flowapp.accounts.roles import is_at_least
from flowapp.quarantine.selectors import Entry

ROWS_VIEW = "editor"
"""The lowest role that sees values."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A field of a rejected row. `text` is None for NULL; `failing` says that a rule about this field failed."""

    name: str
    text: str | None
    failing: bool


def may_see_values(role: str) -> bool:
    return is_at_least(role, ROWS_VIEW)


def entry_document(entry: Entry, role: str) -> dict[str, Any]:
    """An entry for the API; rows are null where the role does not show values, and `valuesHidden` says so."""
    seen = may_see_values(role)
    shown = {name: value for name, value in entry.items() if name != "tenant"}
    values = {name: entry[name] if seen else None for name in ("row", "fixedRow")}
    return {**shown, **{name: _time(entry[name]) for name in ("createdAt", "decidedAt")}, **values,
            "valuesHidden": not seen}  # fmt: skip


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def cells_of(entries: list[Entry]) -> list[Cell]:
    """The fields of a row with all rules it failed; a field that the row lacks is there without a value."""
    row = entries[0]["row"]
    failing = {entry["field"] for entry in entries if entry["field"] is not None}
    fields = row if isinstance(row, dict) else {"": row}
    names = [*fields, *sorted(failing - fields.keys())]
    return [Cell(name, _text(fields.get(name)), name in failing) for name in names]


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
