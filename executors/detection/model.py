"""What detection takes and gives."""

from __future__ import annotations

from dataclasses import dataclass

from ir.formats import Format

LOOKED_AT_BYTES = 1 << 20
"""At most so much of a file is looked at."""

SHOWN_ROWS = 20
SAMPLES = 5


@dataclass(frozen=True, slots=True)
class GivenSettings:
    """Settings that a person fixed; those that are None are detected."""

    type: str | None = None
    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None
    null_values: tuple[str, ...] | None = None


NOTHING_GIVEN = GivenSettings()


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that does not fit, or that the bytes do not decide. `line` counts from 1, where every record is one
    line; `column` is the name of the column that it is about."""

    code: str
    message: str
    hint: str
    column: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class DetectedColumn:
    """A column with the type that its values speak for.

    `formats` are strptime formats; none where the values are ISO 8601 or no dates. Separators are None where numbers
    are written with a point and without groups. `target_name` is a proposed name in a table. `note` says why a column
    stays text where that may surprise, else ''.
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
    """Columns without NULL that tell every row of the sample from all others, or nearly: then `repeated` holds some of
    the values that do not."""

    columns: tuple[str, ...]
    is_unique: bool
    repeated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Detection:
    """`rows` are the first rows, in the order of `columns`. `rows_read` is the number of rows used to infer them;
    `is_whole` says that they are all of the file."""

    format: Format
    columns: tuple[DetectedColumn, ...]
    keys: tuple[Key, ...]
    problems: tuple[Problem, ...]
    rows: tuple[tuple[str | None, ...], ...]
    rows_read: int
    is_whole: bool
