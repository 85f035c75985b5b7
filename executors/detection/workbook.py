"""The sheet and the cells of a table in an Excel workbook, and the columns whose values are all text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

from executors.detection.model import Problem
from executors.formats.columns import names_from_header, names_without_header
from executors.formats.xlsx_cells import column_letters
from executors.formats.xlsx_workbook import SheetRow, opened_workbook
from ir.formats import Xlsx

_LEAST_SHARE = 0.6


@dataclass(frozen=True, slots=True)
class Table:
    """The format of a table, and the names of its columns whose cells are all text: such numbers stay text."""

    format: Xlsx
    texts: frozenset[str]
    problems: tuple[Problem, ...]


def find_table(data: bytes, name: str, sheet: str | None = None) -> Table:
    """Find the table in a sheet, by default the first one that is not empty. Raises InvalidContent, also for an unknown
    sheet."""
    with opened_workbook(BytesIO(data), name) as workbook:
        sheets = list(workbook.sheets)
        looked_at = [workbook.require_sheet(sheet)] if sheet else sheets
        chosen, rows = next(
            ((one, rows) for one in looked_at if (rows := list(workbook.rows(one)))),
            (looked_at[0] if looked_at else None, []),
        )
    settings: dict[str, object] = {"type": "xlsx"}
    if len(sheets) > 1:
        settings["sheet"] = chosen
    first = _first_row(rows)
    below = [row for row in rows if first and row.number > first.number]
    header = first is None or all(cell.is_text for cell in first.cells)
    left = min((cell.column for cell in first.cells), default=0) if first else 0
    if first and (left or first is not rows[0]):
        settings["range"] = f"{column_letters(left)}{first.number}"
    settings["header"] = header
    texts = frozenset(_texts(first, below, left, header)) if first else frozenset()
    return Table(Xlsx.read(settings), texts, tuple(() if sheet else _problems(sheets, chosen)))


def _first_row(rows: Sequence[SheetRow]) -> SheetRow | None:
    """Return the first row with most of the columns: there may be a title above the table."""
    width = max((len(row.cells) for row in rows), default=0)
    return next((row for row in rows if len(row.cells) >= width * _LEAST_SHARE), None)


def _texts(first: SheetRow, below: Sequence[SheetRow], left: int, header: bool) -> Iterator[str]:
    last = max(cell.column for cell in first.cells)
    titles = [""] * (last - left + 1)
    for cell in first.cells:
        titles[cell.column - left] = cell.text
    names = names_from_header(titles)[0] if header else names_without_header(len(titles), ())
    kinds: dict[int, set[bool]] = defaultdict(set)
    for row in below if header else [first, *below]:
        for cell in row.cells:
            kinds[cell.column - left].add(cell.is_text)
    return (name for at, name in enumerate(names) if kinds[at] == {True})


def _problems(sheets: Sequence[str], chosen: str | None) -> Iterator[Problem]:
    if len(sheets) > 1:
        others = ", ".join(repr(sheet) for sheet in sheets if sheet != chosen)
        yield Problem(
            "sheet.chosen",
            f"The workbook has {len(sheets):,} sheets. {chosen!r} is read, and not {others}.",
            "Choose another sheet if that is wrong.",
        )
