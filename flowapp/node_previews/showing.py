"""Prepare a preview for its table: columns with their statistics, and rows with their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from executors.api import LONGEST_VALUE
from flowapp.runs.rule_names import rule_name
from ir.words import counted

Side = Literal["before", "after"]
SIDES: tuple[tuple[Side, str], ...] = (("before", "Before the node"), ("after", "After the node"))
MOST_COLUMNS = 100
"""The maximum number of columns in a table on a page. The API returns all columns."""
LABELS = {
    "passed": "Passed",
    "warned": "Warned",
    "rejected": "Rejected",
    "filtered": "Filtered",
    "stops": "Stops the run",
}
RULE_EFFECTS = {"skip": "rejected", "warn": "warned", "abort": "would stop the run"}


@dataclass(frozen=True, slots=True)
class ShownColumn:
    name: str
    type: str
    null_share: str
    distinct: int
    is_unique: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a row. `problem` says what is wrong with it."""

    column: str
    value: Any
    problem: str = ""

    @property
    def is_number(self) -> bool:
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)

    @property
    def is_cut(self) -> bool:
        """Return whether the value is cut; edits cannot use a cut value."""
        return isinstance(self.value, str) and len(self.value) > LONGEST_VALUE

    @property
    def has_returns(self) -> bool:
        """Return whether the value has carriage returns, which browsers change in pages and forms."""
        return isinstance(self.value, str) and "\r" in self.value

    @property
    def text(self) -> str:
        """Return the value as text, as rules compare it."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of the table. `why` lists the violations as text. `element` is the index of the element that the row was
    made of. A row that could not be parsed has no cells but `raw`."""

    file: str
    record: int
    element: int | None
    result: str
    label: str
    why: tuple[str, ...]
    cells: tuple[Cell, ...]
    raw: str | None


@dataclass(frozen=True, slots=True)
class ShownPreview:
    """A preview for its table. `has_sides` means that rows differ before and after the node."""

    result: Mapping[str, Any]
    side: Side
    has_sides: bool
    columns: tuple[ShownColumn, ...]
    hidden_columns: int
    rows: tuple[ShownRow, ...]
    values: int
    violated_rules: tuple[str, ...]


def shown_preview(result: Mapping[str, Any], side: Side) -> ShownPreview:
    has_sides = result["kind"] != "validate"
    columns = result[side]
    return ShownPreview(
        result=result,
        side=side,
        has_sides=has_sides,
        columns=tuple(map(_column, columns[:MOST_COLUMNS])),
        hidden_columns=max(0, len(columns) - MOST_COLUMNS),
        rows=tuple(_row(row, side, [column["name"] for column in columns], has_sides) for row in result["rows"]),
        values=columns[0]["values"] if columns else 0,
        violated_rules=tuple(
            _violated(rule, result["unit_rejected"]) for rule in result["rules"] if rule["violations"]
        ),
    )


def _violated(rule: Mapping[str, Any], unit: str) -> str:
    number = rule["evaluated"]
    of = "" if number is None else f" of {counted(number, unit) if unit == 'record' else f'{number:,}'}"
    name = rule_name(rule["rule_id"], rule["type"], rule["field"])
    return f"{name}: {rule['violations']:,}{of} {RULE_EFFECTS[rule['on_fail']]}."


def _column(column: Mapping[str, Any]) -> ShownColumn:
    nulls, values = column["nulls"], column["values"]
    is_unique = values > 1 and nulls == 0 and column["distinct"] == values
    return ShownColumn(column["name"], column["type"], _share(nulls, values), column["distinct"], is_unique)


def _share(part: int, whole: int) -> str:
    """Format a share in percent. Only an exact 0 or 1 is shown as 0% or 100%."""
    if not part or part == whole:
        return "100%" if part else "0%"
    percent = 100 * part / whole
    if percent < 1:
        return "<1%"
    return ">99%" if percent > 99 else f"{percent:.0f}%"


def _row(row: Mapping[str, Any], side: Side, names: Sequence[str], has_sides: bool) -> ShownRow:
    values = row[side]
    if values is None and not has_sides:
        values = row["before"]
    problems = {violation["field"]: violation["message"] for violation in row["violations"] if violation["field"]}
    if side == "after":
        problems = {**dict.fromkeys(row["unreadable"], "is not of this type"), **problems}
    return ShownRow(
        row["file"],
        row["record"],
        row["element"],
        row["result"],
        LABELS[row["result"]],
        tuple(_why(violation) for violation in row["violations"]),
        tuple(Cell(name, value, problems.get(name, "")) for name, value in _pairs(names, values)),
        row["raw"],
    )


def _pairs(names: Sequence[str], values: Sequence[Any] | None) -> list[tuple[str, Any]]:
    return [] if values is None else list(zip(names, values, strict=True))[:MOST_COLUMNS]


def _why(violation: Mapping[str, Any]) -> str:
    return f"{violation['field'] or ''} {violation['message']}".strip()
