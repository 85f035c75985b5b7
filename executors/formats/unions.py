"""Columns of several files of one source, by name."""

from __future__ import annotations

from collections.abc import Iterable

from executors.errors import Terminal
from executors.model import FileScan, SourceField
from ir.types import STRING, ColumnType

_WIDER: dict[frozenset[str], ColumnType] = {
    frozenset(("string", "json")): STRING,  # nested in one file, plain or always NULL in another
    frozenset(("integer", "bigint")): ColumnType("bigint"),
}
"""Types that readers can give for both."""


def union_of_fields(scans: Iterable[FileScan]) -> tuple[SourceField, ...]:
    """All columns of the files, in order of first appearance. Raises Terminal where types have no common one."""
    found: dict[str, SourceField] = {}
    for scan in scans:
        for field in scan.fields:
            known = found.setdefault(field.name, field)
            if known.type != field.type:
                found[field.name] = SourceField(field.name, _common(known, field, scan.file.name))
    return tuple(found.values())


def _common(known: SourceField, field: SourceField, file: str) -> ColumnType:
    wider = _WIDER.get(frozenset((known.type.kind, field.type.kind)))
    if wider is None:
        raise Terminal(
            "source.types_differ",
            f"Column {field.name!r} is {known.type} in one file and {field.type} in {file}.",
            hint="Load the files by separate sources, or write the column with one type.",
        )
    return wider
