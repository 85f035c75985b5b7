"""The parts of an Excel workbook: its sheets, texts and styles, read from the archive as streams."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from executors.errors import InvalidContent
from executors.formats.limits import expands_too_much
from executors.formats.safe_xml import elements
from executors.formats.xlsx_cells import (
    BadCellError,
    Style,
    boolean_of,
    column_letters,
    column_number,
    style_of,
    text_of_number,
    text_without_escapes,
)

MOST_SHEET_BYTES = 1 << 30
MOST_TEXT_BYTES = 256 << 20
MOST_TEXTS = 2_000_000
MOST_PARTS = 10_000
MOST_CELLS = 16_384
"""The maximum number of cells of a row, which is also that of Excel."""
_MOST_PART_BYTES = 32 << 20
"""The maximum size of the parts that are neither sheets nor texts."""
_REFERENCE = re.compile(r"([A-Z]{1,3})([1-9][0-9]{0,6})")
_FAILURES = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, KeyError, ValueError, OSError)
_SAVE_AS_CSV = "Save the sheet as CSV (UTF-8), and load that."

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that is not empty. `text` is its value; for a cell without a usable value, `fault` says why, and `text` is
    what the cell shows. `is_text` says that it holds text."""

    column: int
    text: str
    is_text: bool
    fault: str = ""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row that is not empty. `number` counts from 1."""

    number: int
    cells: tuple[Cell, ...]


@dataclass(slots=True)
class Workbook:
    """An open workbook. `sheets` are the visible worksheets with their parts, in order; `merged` is the number of
    merged ranges in the sheet that was read last."""

    archive: zipfile.ZipFile
    name: str
    sheets: dict[str, str]
    styles: list[Style]
    from_1904: bool
    texts: list[str]
    merged: int = field(default=0)

    def require_sheet(self, sheet: str | None) -> str:
        """Return the name of a sheet, the first one for None. Raises InvalidContent for an unknown sheet."""
        if sheet is None and self.sheets:
            return next(iter(self.sheets))
        if sheet in self.sheets:
            return sheet
        raise InvalidContent(
            "source.sheet_unknown",
            f"{self.name} has no visible sheet {sheet or ''!r}; it has {', '.join(map(repr, self.sheets)) or 'none'}.",
            hint="Correct the sheet in the source's format, or leave it out to read the first one.",
        )

    def rows(self, sheet: str) -> Iterator[SheetRow]:
        """Yield the rows of a sheet. Raises InvalidContent."""
        self.merged, number, column = 0, 0, -1
        is_open, count = False, 0
        cells: list[Cell] = []
        with _part(self.archive, self.sheets[sheet], self.name, MOST_SHEET_BYTES) as stream:
            # Each cell is taken at its end, so that a row never is in memory as a tree.
            for element in elements(stream, ("{*}row", "{*}c", "{*}mergeCell"), self.name):
                kind = _local(element)
                if kind == "mergeCell":
                    self.merged += 1
                    continue
                row = element if kind == "row" else element.getparent()
                if not is_open:
                    number, is_open = int(row.get("r") or number + 1), True
                if kind == "c":
                    count += 1
                    if count > MOST_CELLS:
                        raise _malformed(self.name, f"row {number:,} has more than {MOST_CELLS:,} cells")
                    column = _column_of(element, column)
                    if (found := self._cell(element, column, number)) is not None:
                        cells.append(found)
                    continue
                if cells:
                    yield SheetRow(number, tuple(cells))
                cells, is_open, count, column = [], False, 0, -1

    def _cell(self, cell: Any, column: int, row: int) -> Cell | None:
        kind, where = cell.get("t", "n"), f"{column_letters(column)}{row}"
        parts = {_local(part): part for part in cell}
        if kind == "inlineStr":
            text = _text_of(parts["is"]) if "is" in parts else ""
            return Cell(column, text, True) if text else None
        value = parts["v"].text if "v" in parts else None
        if value is None or value == "":
            if "f" in parts and kind != "str":
                return Cell(column, "", False, f"cell {where} holds a formula without a stored value")
            return None
        try:
            return self._stored(kind, value, column, cell, where)
        except (BadCellError, IndexError, ValueError) as error:
            return Cell(column, value, False, f"cell {where} cannot be read: {error}")

    def _stored(self, kind: str, value: str, column: int, cell: Any, where: str) -> Cell | None:
        if kind == "s":
            text = _at(self.texts, value)
            return Cell(column, text, True) if text else None
        if kind == "str":
            return Cell(column, text_without_escapes(value), True)
        if kind == "b":
            return Cell(column, boolean_of(value), False)
        if kind == "e":
            return Cell(column, value, False, f"cell {where} holds the error {value}")
        if kind == "d":
            return Cell(column, value.replace("T", " ").removesuffix("Z"), False)
        if kind != "n":
            raise BadCellError(f"it has the unknown type {kind!r}")
        style: Style = _at(self.styles, cell.get("s", "0")) if self.styles else "number"
        return Cell(column, text_of_number(value, style, from_1904=self.from_1904), False)


@contextmanager
def opened_workbook(stream: Any, name: str) -> Iterator[Workbook]:
    """Open a workbook. Raises InvalidContent for an archive that is damaged, too large, or no workbook."""
    stream.seek(0)
    try:
        with zipfile.ZipFile(stream) as archive:
            if len(archive.infolist()) > MOST_PARTS:
                raise expands_too_much(name, f"it has {len(archive.infolist()):,} parts")
            yield _read_workbook(archive, name)
    except _FAILURES as error:
        # The stream's own failure is the cause of any error of the library.
        raise getattr(stream, "failure", None) or _malformed(name, str(error) or "it is broken") from error


def _read_workbook(archive: zipfile.ZipFile, name: str) -> Workbook:
    root = _relations(archive, "_rels/.rels", name)
    main = next((part for kind, part in root.values() if kind == "officeDocument"), None)
    if main is None or ("sheet" not in main and "workbook" not in main):
        raise _malformed(name, "it is not a workbook")
    folder, file = posixpath.split(main)
    relations = _relations(archive, f"{folder}/_rels/{file}.rels", name)
    parts = dict(relations.values())
    sheets, from_1904 = _sheets(archive, main, relations, name)
    return Workbook(
        archive,
        name,
        sheets,
        _styles(archive, parts["styles"], name) if "styles" in parts else [],
        from_1904,
        _texts(archive, parts["sharedStrings"], name) if "sharedStrings" in parts else [],
    )


def _relations(archive: zipfile.ZipFile, part: str, name: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the name of each part that a part refers to, by the id of the reference."""
    base = posixpath.dirname(posixpath.dirname(part))
    found = {}
    with _part(archive, part, name, _MOST_PART_BYTES) as stream:
        for element in elements(stream, ("{*}Relationship",), name):
            target = element.get("Target", "")
            path = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(base, target))
            found[element.get("Id", "")] = element.get("Type", "").rpartition("/")[2], path
    return found


def _sheets(
    archive: zipfile.ZipFile, part: str, relations: dict[str, tuple[str, str]], name: str
) -> tuple[dict[str, str], bool]:
    sheets, from_1904 = {}, False
    with _part(archive, part, name, _MOST_PART_BYTES) as stream:
        for element in elements(stream, ("{*}workbookPr", "{*}sheet"), name):
            if _local(element) == "workbookPr":
                from_1904 = element.get("date1904") in ("1", "true", "on")
            if _local(element) != "sheet" or element.get("state", "visible") != "visible":
                continue
            ids = [value for key, value in element.attrib.items() if key.endswith("}id")]
            kind, path = relations.get(ids[0] if ids else "", ("", ""))
            if kind == "worksheet":
                sheets[element.get("name", "")] = path
    return sheets, from_1904


def _styles(archive: zipfile.ZipFile, part: str, name: str) -> list[Style]:
    codes: dict[int, str] = {}
    formats: list[int] = []
    with _part(archive, part, name, _MOST_PART_BYTES) as stream:
        for element in elements(stream, ("{*}numFmt", "{*}cellXfs"), name):
            kind = _local(element)
            if kind == "numFmt" and element.get("formatCode") is not None:
                codes[int(element.get("numFmtId", 0))] = element.get("formatCode")
            if kind == "cellXfs":
                formats = [int(one.get("numFmtId", 0)) for one in element]
    return [style_of(number, codes.get(number)) for number in formats]


def _texts(archive: zipfile.ZipFile, part: str, name: str) -> list[str]:
    texts: list[str] = []
    with _part(archive, part, name, MOST_TEXT_BYTES) as stream:
        for element in elements(stream, ("{*}si",), name):
            texts.append(_text_of(element))
            if len(texts) > MOST_TEXTS:
                raise _too_large(name, f"it holds more than {MOST_TEXTS:,} different texts")
    return texts


def _text_of(element: Any) -> str:
    """Return a text without its formats and without phonetic hints."""
    parts = []
    for child in element:
        if _local(child) == "t":
            parts.append(child.text or "")
        elif _local(child) == "r":
            parts += [one.text or "" for one in child if _local(one) == "t"]
    return text_without_escapes("".join(parts))


def _column_of(cell: Any, before: int) -> int:
    """Return the column of a cell; without a reference it is the one after the cell `before`."""
    match = _REFERENCE.fullmatch(cell.get("r", ""))
    return column_number(match[1]) if match else before + 1


def _at(values: list[_Value], place: str) -> _Value:
    """Return the value at a place that a cell names. Raises BadCellError."""
    if not place.isdecimal() or int(place) >= len(values):
        raise BadCellError(f"it refers to entry {place} of {len(values):,}")
    return values[int(place)]


@contextmanager
def _part(archive: zipfile.ZipFile, part: str, name: str, most: int) -> Iterator[Any]:
    try:
        info = archive.getinfo(part)
    except KeyError as error:
        raise _malformed(name, f"it has no part {part!r}") from error
    if info.file_size > most:
        raise _too_large(name, f"its part {part!r} takes {info.file_size >> 20:,} MB")
    with archive.open(info) as stream:
        yield stream


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _too_large(name: str, what: str) -> InvalidContent:
    return InvalidContent("source.expands_too_much", f"{name} is too large: {what}.", hint=_SAVE_AS_CSV)


def _malformed(name: str, why: str) -> InvalidContent:
    return InvalidContent(
        "source.malformed", f"{name} cannot be read as an Excel workbook: {why}.", hint="Save it again as .xlsx."
    )
