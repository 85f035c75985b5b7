"""Describes values and records of a sample that do not fit the proposed settings and types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from executors.detection.columns import CERTAIN_NULL_WORDS, Column, count_words, short
from executors.detection.model import Problem
from executors.detection.reading import Sheet
from ir.diagnostics import listed
from ir.types import STRING, value_of
from ir.words import counted, date_pattern

_SHOWN_ROWS, _SHOWN_VALUES, _SHOWN_COLUMNS = 5, 5, 10


def of_records(sheet: Sheet, *, ends_with_delimiter: bool) -> Iterator[Problem]:
    """Yield problems of records that the reader rejects, and of the header."""
    for warning in sheet.scan.warnings:
        if warning.startswith("The header"):
            yield Problem("header.name_made_up", warning, "Name the columns where the file is made.")
    reasons = Counter(reason for _, reason in sheet.bad)
    if ends_with_delimiter and _is_one_wider(sheet, reasons):
        text = f"{_each(len(sheet.bad))} one value more than the header has names: the lines end with a delimiter."
        yield Problem("rows.trailing_delimiter", text, "Remove it from the lines, or add it to the header.")
        return
    shown = sheet.bad[:_SHOWN_ROWS]
    for record, reason in shown:
        line = sheet.line_of(record)
        where = f"Record {record:,}" if line is None else f"Line {line:,}"
        hint = "Runs reject such rows. Correct them, or check the delimiter, the quote and the encoding."
        yield Problem("row.unreadable", f"{where} cannot be read: {reason}.", hint, line=line)
    if more := len(sheet.bad) - len(shown):
        have = "record cannot" if more == 1 else "records cannot"
        text = f"{more:,} more {have} be read. The most frequent reason: {reasons.most_common(1)[0][0]}."
        yield Problem("row.unreadable", text, "Check the delimiter, the quote and the encoding.")


def _each(count: int) -> str:
    return "One row has" if count == 1 else f"Each of {count:,} rows has"


def _is_one_wider(sheet: Sheet, reasons: Counter[str]) -> bool:
    width = len(sheet.fields)
    return list(reasons) == [f"expected {width} cells, found {width + 1}"] and not sheet.table.num_rows


def of_columns(columns: Sequence[Column]) -> Iterator[Problem]:
    """Yield problems of types, and columns without values."""
    for column in columns:
        yield from _misfits(column)
        if column.inferred.open:
            yield _OPEN[column.inferred.open](column)
    yield from _without_values(columns)
    yield from _trailing_column(columns)


def _misfits(column: Column) -> Iterator[Problem]:
    inferred, texts = column.inferred, column.texts
    if not (count := inferred.misfits(texts)):
        return
    what = " or ".join(map(date_pattern, inferred.formats)) or value_of(str(inferred.type).partition("(")[0])
    if inferred.type.kind == "decimal":
        what = "a number"
    are = "value is" if count == 1 else f"of {texts.total:,} values are"
    start = f"1 of {texts.total:,} values is" if count == 1 else f"{count:,} {are}"
    yield Problem(
        "column.misfits",
        f"Column {column.name!r}: {start} not {what}: {_some(texts.values.filter(inferred.bad).to_pylist())}.",
        "To a run they are type mismatches. Correct them, make them texts for NULL, or read the column as string.",
        column.name,
    )


def _some(values: Sequence[str]) -> str:
    return listed((repr(short(value)) for value in values), _SHOWN_VALUES)


def _ambiguous_date(column: Column) -> Problem:
    formats = column.inferred.between[:2]
    a, b = map(date_pattern, formats)
    example = short(column.texts.values[0].as_py())
    return Problem(
        "date.ambiguous",
        f"Column {column.name!r}: no value shows whether the dates are {a} or {b}, such as {example!r}.",
        f"It stays text. If you know which it is, choose date and the format {formats[0]} or {formats[1]}.",
        column.name,
    )


def _mixed_date(column: Column) -> Problem:
    a, b = map(date_pattern, column.inferred.between[:2])
    return Problem(
        "date.mixed_order",
        f"Column {column.name!r} holds dates that can only be {a} and others that can only be {b}.",
        "It stays text: each date with a day up to 12 could be either. Ask who made the file.",
        column.name,
    )


def _ambiguous_number(column: Column) -> Problem:
    [example] = column.inferred.between
    sign = "," if "," in example else "."
    read = "It stays text" if column.inferred.type == STRING else "It is read as a fraction"
    return Problem(
        "number.ambiguous",
        f"Column {column.name!r}: no value shows whether {sign!r} in numbers such as {example!r} is a decimal "
        "separator or a group separator.",
        f"{read}. Choose the decimal and the group separator if that is wrong.",
        column.name,
    )


def _mixed_zones(column: Column) -> Problem:
    a, b = column.inferred.between
    return Problem(
        "timestamp.mixed_zones",
        f"Column {column.name!r} holds timestamps with a time zone, such as {a!r}, and without one, such as {b!r}.",
        "It stays text. As timestamptz, those without one are read as UTC.",
        column.name,
    )


_OPEN = {
    "date.ambiguous": _ambiguous_date,
    "date.mixed_order": _mixed_date,
    "number.ambiguous": _ambiguous_number,
    "timestamp.mixed_zones": _mixed_zones,
}


def of_nulls(before: Sequence[Column], after: Sequence[Column], words: Sequence[str]) -> Iterator[Problem]:
    """Yield problems of texts for NULL, which apply to all columns and may be values of one; in quotes they are text.
    `before` are the columns without these texts."""
    quoted: set[str] = set()
    for old, new in zip(before, after, strict=True):
        here, left = count_words(old, words), count_words(new, words)
        quoted |= left.keys()
        gone = {word: count - left.get(word, 0) for word, count in here.items() if word not in CERTAIN_NULL_WORDS}
        if (count := sum(gone.values())) and new.inferred.type == STRING and new.texts.total:
            shown = _some([word for word, times in gone.items() if times])
            yield Problem(
                "nulls.in_text",
                f"Column {new.name!r} is text, and {counted(count, 'value')} of it would become NULL: {shown}.",
                "Texts for NULL hold for all columns. Remove those that are values here.",
                new.name,
            )
    if quoted:
        text = f"{_some(sorted(quoted))} would mean NULL, but it is in quotes, so it is text."
        yield Problem(
            "nulls.quoted", text, "Write it without quotes where the file is made, or replace it in a transform."
        )


def _without_values(columns: Sequence[Column]) -> Iterator[Problem]:
    empty = [column.name for column in columns if column.rows and not column.texts.total]
    if empty:
        has = "column has" if len(empty) == 1 else "columns have"
        text = f"{len(empty):,} {has} no value in the rows that were read: {listed(map(repr, empty), _SHOWN_COLUMNS)}."
        yield Problem("column.empty", text, "Text is proposed; choose a type if you know it.")


def _trailing_column(columns: Sequence[Column]) -> Iterator[Problem]:
    if (
        len(columns) > 1
        and columns[-1].name == f"column_{len(columns)}"
        and columns[-1].rows
        and not columns[-1].texts.total
    ):
        text = "The last column has neither a name nor values: the lines seem to end with a delimiter."
        yield Problem("column.trailing", text, "Leave it out of the pipeline.", columns[-1].name)


def without_rows(sheet: Sheet) -> Iterator[Problem]:
    if not sheet.table.num_rows and not sheet.bad:
        columns = f" names {counted(len(sheet.fields), 'column')}, and" if sheet.fields else ""
        text = f"The file{columns} has no row."
        yield Problem("rows.none", text, "Types cannot be inferred without values. Choose a file with rows.")
