"""The input and output of detection."""

from __future__ import annotations

from dataclasses import dataclass

from ir.formats import Format

LOOKED_AT_BYTES = 1 << 20
"""The maximum number of bytes of a file that are read."""

SHOWN_ROWS = 20
SAMPLES = 5


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """Settings that a person has given; those that are None are detected."""

    type: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None
    null_values: tuple[str, ...] | None = None
    sheet: str | None = None
    record_path: str | None = None
    repeated: tuple[str, ...] | None = None


NOTHING_GIVEN = GivenSettings()


@dataclass(frozen=True, slots=True)
class Problem:
    """Values that do not fit, or a choice that the bytes do not decide. `line` counts from 1 and assumes one line for
    each record; `column` is the column's name."""

    code: str
    message: str
    hint: str
    column: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class DetectedColumn:
    """A column with the type that its values suggest.

    `formats` are strptime formats; none if the values are ISO 8601 or not dates. Separators are None for numbers with a
    point and without groups. `target_name` is a proposed name in a table. `note` explains why a column stays text if
    that may be unexpected, else ''.
    """

    name: str
    target_name: str
    type: str
    formats: tuple[str, ...]
    decimal_separator: str | None
    group_separator: str | None
    null_rate: float
    distinct: int
    min: str | None
    max: str | None
    samples: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class Key:
    """Columns without NULL that identify every row of the sample, or almost: then `repeated` holds some of the repeated
    values. `is_likely` says that a single column is first or has a name typical of keys: others may be unique by
    chance."""

    columns: tuple[str, ...]
    is_unique: bool
    repeated: tuple[str, ...] = ()
    is_likely: bool = False


@dataclass(frozen=True, slots=True)
class Detection:
    """`rows` are the first rows, in the order of `columns`. `rows_read` is the number of rows used for the detection;
    `is_whole` says that they are all rows of the file."""

    format: Format
    columns: tuple[DetectedColumn, ...]
    keys: tuple[Key, ...]
    problems: tuple[Problem, ...]
    rows: tuple[tuple[str | None, ...], ...]
    rows_read: int
    is_whole: bool
