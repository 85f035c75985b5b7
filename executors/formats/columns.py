"""Column names of a file: from its header, from the declared columns, or generated in a stable way."""

from __future__ import annotations

from collections.abc import Sequence

from executors.errors import InvalidContent
from executors.model import SourceField
from ir.nodes import SourceColumn
from ir.types import STRING

HIDDEN_PREFIX = "_flow_"


def names_from_header(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names, and warnings about those that had to be made up: a blank header becomes `column_<position>`, a repeated
    one gets the first free of `_2`, `_3` …"""
    taken = {cell for cell in cells if cell.strip()}
    names: list[str] = []
    warnings: list[str] = []
    for position, cell in enumerate(cells, 1):
        name = cell if cell.strip() else f"column_{position}"
        if name in names or (name != cell and name in taken):
            name = _first_free(name, taken)
        if name != cell:
            what = f"repeats {cell!r}" if cell.strip() else "is blank"
            warnings.append(f"The header of column {position} {what}; the column is called {name!r}.")
        taken.add(name)
        names.append(name)
    return names, warnings


def _first_free(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def names_without_header(width: int, declared: Sequence[SourceColumn]) -> list[str]:
    """The declared names in order, then `column_<position>`."""
    names = [column.name for column in declared[:width]]
    return names + [f"column_{position}" for position in range(len(names) + 1, width + 1)]


def declared_fields(declared: Sequence[SourceColumn]) -> tuple[SourceField, ...]:
    """The fields of a file without a record in a format that names columns record by record."""
    return tuple(SourceField(column.name, STRING) for column in declared)


def require_columns(file: str, names: Sequence[str], declared: Sequence[SourceColumn]) -> None:
    """Refuse a file that lacks a declared column, or uses a name that Flow needs."""
    if missing := [column.name for column in declared if column.name not in names]:
        raise InvalidContent(
            "source.column_missing",
            f"{file} has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, names)) or 'none'}.",
            hint="Remove the column from the source's columns, or correct its name.",
        )
    if hidden := [name for name in names if name.startswith(HIDDEN_PREFIX)]:
        raise InvalidContent(
            "source.column_reserved",
            f"{file} has a column {hidden[0]!r}; names that begin with {HIDDEN_PREFIX!r} are Flow's own.",
            hint="Rename the column at its source.",
        )
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidContent(
            "source.column_repeated",
            f"{file} has more than one column {repeated[0]!r}.",
            hint="Give each column a different name.",
        )
