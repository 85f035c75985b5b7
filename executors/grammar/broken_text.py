"""Texts that are not valid UTF-8. Spark casts bytes to text without checking them, and Parquet files may contain any
bytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar.stages import text_bytes


def without_broken(values: pa.Array) -> tuple[pa.Array, pa.BooleanArray | None]:
    """Return the values with NULL for invalid UTF-8, and a mask of these values, or None if there are none."""
    if not _holds_broken(values):
        return values, None
    broken = pa.array([text is not None and not _is_utf8(text) for text in _raw(values)], pa.bool_())
    return pc.if_else(broken, pa.scalar(None, values.type), values), broken


def without_broken_bytes(values: pa.Array) -> pa.Array:
    """Return texts with U+FFFD in place of invalid UTF-8."""
    if not _holds_broken(values):
        return values
    return pa.array([None if text is None else text.decode(errors="replace") for text in _raw(values)], pa.string())


def _holds_broken(values: pa.Array) -> bool:
    if not pa.types.is_string(values.type):
        return False
    data = text_bytes(values)
    if data.size == 0 or data.max() < 0x80:
        return False
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return True
    return False


def _raw(values: pa.Array) -> list[bytes | None]:
    found: list[bytes | None] = values.cast(pa.binary()).to_pylist()
    return found


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
