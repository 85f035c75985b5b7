"""Values of SQLite as text. Every value keeps its own type there, whatever the type of its column is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from executors.database_files.engine.base import FoundColumn, TextRows

_LONGEST_SHOWN = 10_000


class Text(bytes):
    """A value of type TEXT, which may be invalid UTF-8. A BLOB is plain `bytes`."""


_TYPES = {int: "an integer", float: "a floating point number", bytes: "binary data", Text: "a text"}


def as_text(rows: list[tuple[Any, ...]], columns: Sequence[FoundColumn]) -> TextRows:
    """Return rows as text. One with a value that its column cannot hold is NULL in every column."""
    try:
        return TextRows(len(rows), _arrays(rows, columns))
    except (TypeError, pa.ArrowInvalid):
        reasons, raw = {}, {}
        for index, row in enumerate(rows):
            if reason := _why_unreadable(row, columns):
                reasons[index], raw[index] = reason, _shown(row)
                rows[index] = (None,) * len(columns)
        return TextRows(len(rows), _arrays(rows, columns), reasons, raw)


def _arrays(rows: Sequence[tuple[Any, ...]], columns: Sequence[FoundColumn]) -> list[pa.Array]:
    return [_array(values, column) for values, column in zip(zip(*rows, strict=True), columns, strict=True)]


def _array(values: Sequence[Any], column: FoundColumn) -> pa.Array:
    """Return values as text. Raises TypeError for a value that has no text of this type, and ArrowInvalid for texts
    that are not valid UTF-8."""
    kinds = set(map(type, values)) - {type(None)}
    if kinds <= {Text} and column.type != "binary":
        return pa.array(values, pa.binary()).cast(pa.string())
    if kinds <= {int} and column.type != "binary":
        return pa.array(values, pa.int64()).cast(pa.string())
    return pa.array([_text(value, column.type) for value in values], pa.string())


def _text(value: Any, kind: str) -> str | None:
    if value is None:
        return None
    if kind == "binary" and isinstance(value, bytes):
        return "\\x" + value.hex().upper()
    if kind == "binary" or type(value) is bytes:
        raise TypeError(type(value))
    if isinstance(value, Text):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise TypeError(Text) from None
    return repr(value).replace("inf", "Infinity") if isinstance(value, float) else str(value)


def _why_unreadable(row: Sequence[Any], columns: Sequence[FoundColumn]) -> str:
    for value, column in zip(row, columns, strict=True):
        try:
            _array([value], column)
        except pa.ArrowInvalid:
            return f"Column {column.name!r} holds a text that is not valid UTF-8."
        except TypeError:
            return f"Column {column.name!r} of type {column.type} holds {_TYPES[type(value)]}."
    return ""


def _shown(row: Sequence[Any]) -> str:
    cells = (value if isinstance(value, bytes) else str("" if value is None else value).encode() for value in row)
    return b",".join(cells)[:_LONGEST_SHOWN].decode(errors="backslashreplace")
