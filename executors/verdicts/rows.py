"""Rows as JSON objects that jsonb takes, for quarantine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from executors.grammar import canonical_text

RAW_KEY = "_flow_raw"
"""Holds the text of a record that its format cannot read."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

ESCAPED_KEY = "_flow_escaped"
"""Names the columns whose NUL characters are written `\\0`, and their backslashes `\\\\`."""


def row_texts(batch: pa.RecordBatch, columns: Mapping[str, str]) -> list[str]:
    """One JSON object for each row; `columns` maps names shown to columns of the batch.

    Integers, booleans and finite floats are JSON values; everything else is its canonical text.
    """
    names = [_escaped(name)[0] for name in columns]
    lists = [_json_values(batch.column(column)) for column in columns.values()]
    return [_dump(dict(zip(names, values, strict=True))) for values in zip(*lists, strict=True)] if lists else [
        "{}"
    ] * batch.num_rows  # fmt: skip


def raw_text(raw: str | None) -> str:
    """The object that stands for a record that could not be read."""
    return _dump({RAW_KEY: raw})


def _json_values(values: pa.Array) -> list[Any]:
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return values.to_pylist()  # type: ignore[no-any-return]
    if pa.types.is_floating(kind):
        texts = canonical_text(values).to_pylist()
        pairs = zip(values.to_pylist(), texts, strict=True)
        return [text if value is not None and not math.isfinite(value) else value for value, text in pairs]
    return canonical_text(values).to_pylist()  # type: ignore[no-any-return]


def _dump(row: dict[str, Any]) -> str:
    escaped = []
    for name, value in row.items():
        if isinstance(value, str):
            row[name], changed = _escaped(value)
            if changed:
                escaped.append(name)
    if escaped:
        row[ESCAPED_KEY] = escaped
    return _ENCODER.encode(row)


def _escaped(text: str) -> tuple[str, bool]:
    if "\0" not in text:
        return text, False
    return text.replace("\\", "\\\\").replace("\0", "\\0"), True
