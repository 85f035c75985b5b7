"""The columns of a file: the detected types with the user's changes, and the columns of the target table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from executors.api import Cell, ColumnFit, DetectedColumn, Fit, Problem
from flowapp.starting.answers import ON, Answers, Choice, Setting, make_setting
from ir.diagnostics import Diagnostic
from ir.nodes import SourceColumn
from ir.pointers import ROOT
from ir.types import SIMPLE_TYPES, ColumnType, value_of
from ir.words import counted, date_pattern
from ir.written import MAX_FORMATS

DATES = ("date", "timestamp", "timestamptz")
WHOLE_NUMBERS = ("integer", "bigint")
NUMBERS = (*WHOLE_NUMBERS, "float", "decimal")
DECIMALS = ("decimal(18,2)", "decimal(18,4)", "decimal(38,10)")
TYPES = tuple(Choice(name, name) for name in (*SIMPLE_TYPES[:4], *DECIMALS, *SIMPLE_TYPES[4:]))
SEPARATORS = (
    Choice(".", "1234.56"),
    Choice(".,", "1,234.56"),
    Choice(". ", "1 234.56"),
    Choice(".'", "1'234.56"),
    Choice(",", "1234,56"),
    Choice(",.", "1.234,56"),
    Choice(", ", "1 234,56"),
    Choice(",'", "1'234,56"),
)
"""The decimal separator, then the group separator if there is one."""
WHOLE_SEPARATORS = (
    Choice(".", "1234"),
    Choice(".,", "1,234"),
    Choice(",.", "1.234"),
    Choice(". ", "1 234"),
    Choice(".'", "1'234"),
)
"""The same pairs for whole numbers."""
DATE_FORMATS = (
    ("%d.%m.%Y", "31.12.2025"),
    ("%d/%m/%Y", "31/12/2025"),
    ("%m/%d/%Y", "12/31/2025"),
    ("%d-%m-%Y", "31-12-2025"),
    ("%Y-%m-%d", "2025-12-31"),
    ("%Y/%m/%d", "2025/12/31"),
    ("%Y%m%d", "20251231"),
    ("%d %b %Y", "31 Dec 2025"),
    ("%d.%m.%Y %H:%M", "31.12.2025 23:59"),
    ("%d.%m.%Y %H:%M:%S", "31.12.2025 23:59:59"),
    ("%d/%m/%Y %H:%M", "31/12/2025 23:59"),
    ("%m/%d/%Y %I:%M %p", "12/31/2025 11:59 PM"),
    ("%Y-%m-%d %H:%M:%S", "2025-12-31 23:59:59"),
    ("%Y-%m-%dT%H:%M:%S%z", "2025-12-31T23:59:59+0100"),
)
"""Formats that the form offers, with an example."""
REPLACED_BY_FIT = ("column.misfits",)
"""Problems of detection that are superseded by testing the chosen type."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file as the pipeline reads it. `prefix` is the prefix of its fields in the form."""

    prefix: str
    name: str
    target_name: str
    type: str
    formats: tuple[str, ...]
    separators: str
    is_included: bool
    is_type_given: bool
    detected: DetectedColumn

    @property
    def kind(self) -> str:
        return ColumnType.parse(self.type).kind

    @property
    def is_number(self) -> bool:
        return self.kind in NUMBERS

    def source_column(self) -> dict[str, Any]:
        """Return the column for the document of a source."""
        column: dict[str, Any] = {"name": self.name, "type": self.type}
        if self.formats and self.kind in DATES:
            column["format"] = self.formats[0] if len(self.formats) == 1 else list(self.formats)
        if self.is_number and self.separators != ".":
            column["decimalSeparator"] = self.separators[0]
            if group := self.separators[1:]:
                column["groupSeparator"] = group
        return column


def choose_columns(answers: Answers, detected: Iterable[DetectedColumn]) -> list[Column]:
    """Return the detected columns with the user's changes. A change applies as long as the file has the column."""
    return [_choose(answers, f"c{position}", column) for position, column in enumerate(detected)]


def _of_column(answers: Answers, prefix: str, name: str) -> Answers:
    """Return the answers if the form showed the same column at this position."""
    shown = answers.data.get(f"{prefix}-name", "")
    # Browsers send each line break as CR LF.
    return answers if shown.splitlines() == name.splitlines() else NOBODY


NOBODY = Answers()


def _choose(answers: Answers, prefix: str, column: DetectedColumn) -> Column:
    given = _of_column(answers, prefix, column.name)
    formats = given.text(f"{prefix}-formats", " | ".join(column.formats))
    kind = given.text(f"{prefix}-type", column.type)
    return Column(
        prefix=prefix,
        name=column.name,
        target_name=given.text(f"{prefix}-target", column.target_name),
        type=kind if kind in {choice.value for choice in TYPES} else column.type,
        formats=tuple(text for part in formats.split("|") if (text := part.strip()))[:MAX_FORMATS],
        separators=_separators(given.given(f"{prefix}-separators") or _detected_separators(column)),
        is_included=given.is_on(f"{prefix}-included", True),
        is_type_given=given.given(f"{prefix}-type") is not None,
        detected=column,
    )


def _detected_separators(column: DetectedColumn) -> str:
    return (column.decimal_separator or ".") + (column.group_separator or "")


def _separators(text: str) -> str:
    return text if text in {choice.value for choice in SEPARATORS} else "."


def readable_columns(columns: Iterable[Column]) -> list[SourceColumn]:
    """Return the columns for a test with sample rows. Invalid formats are omitted, because the document's diagnostics
    report them."""
    read = []
    for column in columns:
        plain = column.source_column()
        spec = SourceColumn.read(plain)
        is_sound = next(iter(spec.check(ROOT)), None) is None
        read.append(spec if is_sound else SourceColumn.read({"name": column.name, "type": column.type}))
    return read


@dataclass(slots=True)
class ColumnRow:
    """A column on the page."""

    column: Column
    target: Setting
    type: Setting
    written: Setting | None
    problems: list[str]
    diagnostics: list[Diagnostic]
    misfits: str = ""
    is_key: bool = False
    is_key_given: bool = False
    is_included_given: bool = False


def column_rows(
    answers: Answers, columns: Sequence[Column], fit: Fit, problems: Sequence[Problem], keys: Sequence[str]
) -> list[ColumnRow]:
    fits = {one.column: one for one in fit.columns}
    return [_row(answers, column, fits.get(column.name), problems, keys) for column in columns]


def table_rows(answers: Answers, columns: Sequence[Column], keys: Sequence[str]) -> list[ColumnRow]:
    """Return the columns of a table, whose types are known."""
    return [_row(answers, column, None, (), keys) for column in columns]


def _row(
    answers: Answers, column: Column, fit: ColumnFit | None, problems: Sequence[Problem], keys: Sequence[str]
) -> ColumnRow:
    prefix = column.prefix
    answers = _of_column(answers, prefix, column.name)
    mine = [f"{p.message} {p.hint}" for p in problems if p.column == column.name and p.code not in REPLACED_BY_FIT]
    note = [column.detected.note] if column.detected.note else []
    return ColumnRow(
        column=column,
        target=make_setting(answers, f"{prefix}-target", f"Column of the table for {column.name}", column.target_name),
        type=make_setting(answers, f"{prefix}-type", f"Type of {column.name}", column.type, TYPES),
        written=_written(answers, column),
        problems=[] if column.is_type_given else [*mine, *note],
        diagnostics=[],
        misfits=_misfits(column, fit),
        is_key=column.name in keys,
        is_key_given=answers.given(f"{prefix}-key") is not None,
        is_included_given=answers.given(f"{prefix}-included") is not None,
    )


_ISO = {
    "date": "ISO (2025-12-31)",
    "timestamp": "ISO (2025-12-31 23:59:59)",
    "timestamptz": "ISO (2025-12-31T23:59:59Z)",
}
"""The label of the ISO format, which is the default."""


def _written(answers: Answers, column: Column) -> Setting | None:
    """Return the field for the format of a column's values, for types with several formats."""
    prefix = column.prefix
    if column.kind in DATES:
        text = " | ".join(column.formats)
        label = f"Date format of {column.name}"
        words, iso = date_pattern(" or ".join(column.formats)), _ISO[column.kind]
        name = f"{prefix}-formats"
        return make_setting(answers, name, label, text, help=words, suggestions="date-formats", example=iso)
    if column.is_number:
        label = f"Numbers of {column.name} are written like"
        styles = WHOLE_SEPARATORS if column.kind in WHOLE_NUMBERS else SEPARATORS
        return make_setting(answers, f"{prefix}-separators", label, column.separators, styles)
    return None


def _misfits(column: Column, fit: ColumnFit | None) -> str:
    if fit is None or not fit.misfits:
        return ""
    what = "a number" if column.kind in ("decimal", "float") else value_of(column.type)
    examples = ", ".join(repr(text) for text in fit.examples)
    are = "is" if fit.misfits == 1 else "are"
    return f"{fit.misfits:,} of {counted(fit.values, 'value')} {are} not {what}: {examples}."


def given_keys(answers: Answers, columns: Sequence[Column]) -> list[str] | None:
    """Return the key columns that the user chose, by their names in the file; None if the user chose none."""
    fields = {column.name: f"{column.prefix}-key" for column in columns}
    own = {name: _of_column(answers, column.prefix, column.name) for name, column in zip(fields, columns, strict=True)}
    if all(own[name].given(field) is None for name, field in fields.items()):
        return None
    return [name for name, field in fields.items() if own[name].data.get(field) == ON]


def sample_rows(fit: Fit, columns: Sequence[Column]) -> list[list[tuple[Cell, Column]]]:
    """Return the first rows, each cell with its column."""
    return [list(zip(row, columns, strict=True)) for row in fit.rows]
