"""Reads the first bytes of a file with the settings of a document, and reports the values that do not fit the types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from executors.detection.columns import one_array, short
from executors.detection.model import LOOKED_AT_BYTES, SHOWN_ROWS, GivenSettings
from executors.detection.reading import Sheet, read_head_sheet
from executors.detection.text import read_text
from executors.formats.compression import expanded_head
from executors.grammar import Written, canonical_text, convert_column
from executors.validation.target import without_empty
from ir.formats import Delimited, FixedWidth, Format
from ir.nodes import SourceColumn
from ir.types import STRING, ColumnType

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it is in the file and as a run reads it. `misfits` if it cannot be read as the column's type."""

    text: str | None
    value: str | None
    misfits: bool = False


@dataclass(frozen=True, slots=True)
class ColumnFit:
    """How many of the values that are not NULL do not fit the type, with examples."""

    column: str
    values: int
    misfits: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """`rows` are the first rows, `columns` count all rows that were read; both in the order of the given columns."""

    rows: tuple[tuple[Cell, ...], ...]
    columns: tuple[ColumnFit, ...]


def fit(head: bytes, name: str, *, is_whole: bool, fmt: Format, columns: Sequence[SourceColumn]) -> Fit:
    """Read the rows of a head with these settings. Columns that the file lacks are left out. Raises Failure."""
    head, is_whole = expanded_head(head, LOOKED_AT_BYTES, name, is_whole=is_whole)
    sheet = _read(head, name, is_whole, fmt)
    known = {field.name: position for position, field in enumerate(sheet.fields)}
    fitted = [_fit_column(sheet, known[column.name], column) for column in columns if column.name in known]
    return Fit(tuple(zip(*(cells for cells, _ in fitted), strict=True)), tuple(counts for _, counts in fitted))


def _read(head: bytes, name: str, is_whole: bool, fmt: Format) -> Sheet:
    if not isinstance(fmt, Delimited | FixedWidth):
        return read_head_sheet(head, name, fmt, is_whole)
    text = read_text(head, name, GivenSettings(encoding=fmt.encoding), is_whole=is_whole)
    return read_head_sheet(text.data, name, fmt.model_copy(update={"encoding": "utf-8"}), is_whole)


def _fit_column(sheet: Sheet, position: int, column: SourceColumn) -> tuple[tuple[Cell, ...], ColumnFit]:
    given, to = one_array(sheet.table.column(position)), ColumnType.parse(column.type)
    values = given if to == STRING else without_empty(given)  # as a run, unless its target says otherwise
    typed, bad = convert_column(values, to, Written.of(column))
    first = slice(0, SHOWN_ROWS)
    cells = tuple(map(Cell, _texts(given[first]), _texts(typed[first]), bad[first].to_pylist()))
    examples = dict.fromkeys(_texts(values.filter(bad).slice(0, 100)))
    shown = tuple(short(text) for text in examples if text is not None)[:EXAMPLES]
    return cells, ColumnFit(column.name, len(values) - values.null_count, bad.true_count, shown)


def _texts(values: pa.Array) -> list[str | None]:
    texts: list[str | None] = canonical_text(values).to_pylist()
    return texts
