"""`schemaMatch` compares the arriving columns and their types, not values. Their order does not matter."""

from __future__ import annotations

from collections.abc import Iterator

from executors.checks.base import CheckHandler, Outcome, StagedRows
from ir.checks import SchemaMatch
from ir.types import ColumnType


def run(staged: StagedRows, check: SchemaMatch) -> Outcome:
    """Run the check. The observed value is the number of columns that differ."""
    found = {field.name: field.type for field in staged.working}
    differences = list(_differences(check, found))
    return Outcome("; ".join(differences) or None, len(differences))


def _differences(check: SchemaMatch, found: dict[str, ColumnType]) -> Iterator[str]:
    for name, expected in check.columns.items():
        if name not in found:
            yield f"{name!r} is missing"
        elif found[name] != ColumnType.parse(expected):
            yield f"{name!r} is {found[name]}, not {expected}"
    if not check.allow_others:
        yield from (f"{name!r} is not expected" for name in found if name not in check.columns)


def _nothing(staged: StagedRows, check: SchemaMatch) -> None:
    """Return without a check: this kind can always run."""


HANDLER = CheckHandler(SchemaMatch.kind, run, _nothing)
