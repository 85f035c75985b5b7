"""Combines the columns of several files of one source, by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from executors.errors import InvalidContent
from executors.formats.limits import refuse_too_many_columns
from executors.grammar import PLAIN, Written
from executors.model import FileScan, SourceField
from ir.nodes import SourceColumn
from ir.types import STRING, ColumnType

_WIDER: dict[frozenset[str], ColumnType] = {
    frozenset(("string", "json")): STRING,  # nested in one file, plain in another
    frozenset(("integer", "bigint")): ColumnType("bigint"),
    frozenset(("integer", "float")): ColumnType("float"),
    frozenset(("date", "timestamp")): ColumnType("timestamp"),
}
"""Types that represent every value of both exactly."""

_WHOLE_DIGITS = {"integer": 10, "bigint": 19}


def union_of_fields(scans: Iterable[FileScan], declared: Sequence[SourceColumn] = ()) -> tuple[SourceField, ...]:
    """Return all columns of the files, in order of first appearance.

    Types that differ become one type that represents the values of both exactly. If there is none, a declared type
    applies: the values arrive as text and are parsed as that type. Otherwise raises Terminal `source.types_differ`.
    """
    found: dict[str, tuple[SourceField, str]] = {}
    decided = {column.name for column in declared if Written.of(column) == PLAIN}
    for scan in scans:
        for field in scan.fields:
            known, file = found.setdefault(field.name, (field, scan.file.name))
            if known != field:
                found[field.name] = _common(known, file, field, scan.file.name, field.name in decided)
    refuse_too_many_columns("The source", len(found))
    return tuple(field for field, _ in found.values())


def _common(
    known: SourceField, known_file: str, field: SourceField, file: str, is_decided: bool
) -> tuple[SourceField, str]:
    """Return the field for both files, and the file to compare the next one with."""
    if field.only_null or known.type == field.type:
        return (known if field.only_null else field), known_file
    if known.only_null:
        return field, file
    wider = common_type(known.type, field.type) or (STRING if is_decided else None)
    if wider is None:
        raise InvalidContent(
            "source.types_differ",
            f"Column {field.name!r} is {known.type} in {known_file} and {field.type} in {file}; no type holds the "
            "values of both exactly.",
            hint="Declare the column's type in the source, write the files with one type, or load them by separate "
            "sources.",
        )
    return SourceField(field.name, wider), file if wider == field.type else known_file


def common_type(one: ColumnType, other: ColumnType) -> ColumnType | None:
    return _WIDER.get(frozenset((one.kind, other.kind))) or _wider_decimal(one, other)


def _wider_decimal(one: ColumnType, other: ColumnType) -> ColumnType | None:
    parts = [(_digits(kind), kind.scale) for kind in (one, other)]
    digits = [digits for digits, _ in parts if digits is not None]
    if len(digits) < len(parts):
        return None
    scale = max(scale for _, scale in parts)
    return ColumnType("decimal", max(digits) + scale, scale)


def _digits(kind: ColumnType) -> int | None:
    """Return the number of digits before the point; None for types that are not exact numbers."""
    return kind.precision - kind.scale if kind.kind == "decimal" else _WHOLE_DIGITS.get(kind.kind)
