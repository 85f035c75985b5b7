"""How the types of databases are read: whole numbers, floats, booleans, texts and bytes as Arrow has them, everything
else as text that the database writes and Flow's own grammar reads."""

from __future__ import annotations

from collections.abc import Callable

from executors.arrow_databases.base import Column, ResultColumn
from executors.model import SourceField
from ir.types import STRING, ColumnType

MakeColumn = Callable[[ResultColumn], Column]

_PARSED = frozenset({"string", "json"})


def native(kind: str) -> MakeColumn:
    """A type whose values Arrow has exactly. Bytes are written as text when they have arrived."""
    return lambda found: Column(SourceField(found.name, ColumnType(kind), as_text=kind == "binary"))


def text(kind: str, expression: str, *, is_compared: bool = True) -> MakeColumn:
    """A type whose values are selected as text by an expression."""

    def make(found: ResultColumn) -> Column:
        return Column(SourceField(found.name, ColumnType(kind), as_text=kind not in _PARSED), expression, is_compared)

    return make


def decimal(expression: str) -> MakeColumn:
    """A decimal, whose values are selected as text with all digits."""

    def make(found: ResultColumn) -> Column:
        scale = max(found.scale, 0)
        digits = max(found.digits - min(found.scale, 0), scale, 1)
        return Column(SourceField(found.name, ColumnType("decimal", digits, scale), as_text=True), expression)

    return make


TEXT: MakeColumn = lambda found: Column(SourceField(found.name, STRING))  # noqa: E731
