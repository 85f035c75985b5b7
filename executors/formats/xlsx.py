"""Reads a sheet of an Excel workbook (.xlsx): each row that is not empty is a record; a workbook is one split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from executors.formats import columns
from executors.formats.batches import BadRecords, Batches, Framer, text_schema
from executors.formats.files import BLOCK_BYTES, LOCAL_FILES, FileStore, HashedBlocks, open_verified
from executors.formats.limits import refuse_too_many_columns, rows_for_cells
from executors.formats.splits import whole_file
from executors.formats.xlsx_cells import column_letters
from executors.formats.xlsx_workbook import Cell, SheetRow, Workbook, opened_workbook
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Xlsx
from ir.nodes import SourceColumn
from ir.types import STRING, ColumnType

_MOST_ROWS = 1 << 13


def scan(
    file: SourceFile,
    fmt: Xlsx,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
) -> FileScan:
    """Hash a file and read the sheet once. Raises Terminal for an unknown sheet and a missing declared column."""
    with store.open(file) as stream:
        blocks = HashedBlocks(stream)
        for _ in blocks:
            pass
        found = _scanned(stream, file, fmt, declared, None)
    splits = whole_file(file, blocks.sha256, found.records)
    is_blank = not found.fields
    fields = found.fields or columns.declared_fields(declared)
    scan = FileScan(file, blocks.sha256, found.records, fields, splits, found.warnings, is_blank=is_blank)
    return scan.with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Xlsx,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the first rows of a sheet, with about `most_bytes` of values. The split is the whole file, and its reader
    stops after them. Raises as `scan`."""
    with store.open(file) as stream:
        found = _scanned(stream, file, fmt, declared, most_bytes)
    splits = (Split(file, "", 0, file.size, 1, found.records, None),)
    return FileScan(file, "", found.records, found.fields, splits)


@dataclass(frozen=True, slots=True)
class _Scanned:
    records: int
    fields: tuple[SourceField, ...]
    warnings: tuple[str, ...]


def _scanned(
    stream: Any, file: SourceFile, fmt: Xlsx, declared: Sequence[SourceColumn], most_bytes: int | None
) -> _Scanned:
    with opened_workbook(stream, file.name) as workbook:
        table = _Table(workbook, fmt, declared)
        records = size = 0
        for row in table.rows():
            records += 1
            size += sum(len(cell.text) for cell in row.cells)
            if most_bytes is not None and size > most_bytes:
                break
        warnings = tuple(table.warnings()) if most_bytes is None else ()
    if table.names:
        columns.require_columns(file.name, table.names, declared)
    return _Scanned(records, tuple(SourceField(name, STRING) for name in table.names), warnings)


def read(
    split: Split,
    fmt: Xlsx,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the rows of the sheet as text columns. A row with an error such as #N/A in a column that is not declared
    as text, one with a formula without a value, and one with a value beyond the last column become bad rows. Raises
    Transient `source.changed`."""
    framer = Framer(split, text_schema(fields))
    most_rows = min(_MOST_ROWS, rows_for_cells(len(fields)))
    with open_verified(split, store) as stream, opened_workbook(stream, split.file.name) as workbook:
        table = _Table(workbook, fmt, declared)
        group: list[SheetRow] = []
        size = 0
        for row in table.rows():
            group.append(row)
            size += sum(len(cell.text) for cell in row.cells)
            if len(group) >= most_rows or size >= block_bytes:
                yield from framer.batches(len(group), *table.values(group, fields))
                group, size = [], 0
        if group:
            yield from framer.batches(len(group), *table.values(group, fields))


class _Table:
    """The table in a sheet. `names` are known when the first row was read."""

    def __init__(self, workbook: Workbook, fmt: Xlsx, declared: Sequence[SourceColumn]) -> None:
        self._workbook, self._fmt, self._declared = workbook, fmt, declared
        self._sheet = workbook.require_sheet(fmt.sheet)
        bounds = [number - 1 for number in fmt.bounds()]
        self._left, self._top = bounds[0], bounds[1] + 1
        self._right: int | None = bounds[2] if len(bounds) > 2 else None
        self._bottom: int | None = bounds[3] + 1 if len(bounds) > 2 else None
        self._nulls = frozenset(("", *fmt.null_values))
        self._as_text = {column.name for column in declared if ColumnType.parse(column.type) == STRING}
        self.names: list[str] = []
        self._header_warnings: list[str] = []

    def rows(self) -> Iterator[SheetRow]:
        """Yield the rows below the header."""
        for row in self._workbook.rows(self._sheet):
            cells = tuple(cell for cell in row.cells if self._left <= cell.column and not self._is_beyond(cell))
            if row.number < self._top or (self._bottom and row.number > self._bottom) or not cells:
                continue
            if not self.names:
                self._read_names(cells)
                if self._fmt.header:
                    continue
            yield SheetRow(row.number, cells)

    def _is_beyond(self, cell: Cell) -> bool:
        return self._right is not None and cell.column > self._right

    def _read_names(self, cells: Sequence[Cell]) -> None:
        last = max(cell.column for cell in cells) if self._right is None else self._right
        width = last - self._left + 1
        refuse_too_many_columns(self._workbook.name, width)
        if not self._fmt.header:
            self.names = columns.names_without_header(width, self._declared)
            return
        texts = [""] * width
        for cell in cells:
            texts[cell.column - self._left] = cell.text
        self.names, self._header_warnings = columns.names_from_header(texts)

    def warnings(self) -> Iterator[str]:
        yield from self._header_warnings
        if self._fmt.sheet is None and len(self._workbook.sheets) > 1:
            yield f"The workbook has {len(self._workbook.sheets):,} sheets; only {self._sheet!r} is read."
        if self._workbook.merged:
            yield (
                f"The sheet {self._sheet!r} has {self._workbook.merged:,} merged cells. The first cell of each has the "
                "value; the others are NULL."
            )

    def values(self, rows: Sequence[SheetRow], fields: Sequence[SourceField]) -> tuple[dict[str, pa.Array], BadRecords]:
        """Return the columns of the readable rows, and the unreadable rows."""
        bad = BadRecords()
        good: list[dict[int, str]] = []
        for index, row in enumerate(rows):
            if reason := self._fault(row):
                bad.add(index, reason, _shown(row))
            else:
                good.append({cell.column: cell.text for cell in row.cells if cell.text not in self._nulls})
        places = {name: self._left + at for at, name in enumerate(self.names)}
        found = {
            field.name: pa.array([row.get(places[field.name]) for row in good], pa.string())
            for field in fields
            if field.name in places
        }
        return found, bad

    def _fault(self, row: SheetRow) -> str:
        if len({cell.column for cell in row.cells}) < len(row.cells):
            return f"row {row.number} has two cells in one place"
        for cell in row.cells:
            at = cell.column - self._left
            if at >= len(self.names):
                return f"cell {column_letters(cell.column)}{row.number} is beyond the last column"
            if cell.fault and not self._is_accepted(cell, self.names[at]):
                return cell.fault
        return ""

    def _is_accepted(self, cell: Cell, name: str) -> bool:
        """Return whether an error of Excel, such as #N/A, is a text for NULL, or text in a column of text."""
        return cell.text.startswith("#") and (cell.text in self._nulls or name in self._as_text)


def _shown(row: SheetRow) -> str:
    """Return a row as text for display."""
    return "; ".join(f"{column_letters(cell.column)}{row.number}: {cell.text}" for cell in row.cells)
