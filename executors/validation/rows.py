"""Converts rows to JSON objects that jsonb accepts, for quarantine."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from executors.charsets import UTF8, Charset
from executors.grammar import canonical_text
from executors.grammar.broken_text import without_broken_bytes
from executors.grammar.stages import holds_nul
from executors.validation.plan import GroupColumns

RAW_KEY = "_flow_raw"
"""The key of the text of a record that its format cannot read."""

GROUP_KEY = "_flow_group"
"""The key of the number of rows of a group and of the origin of its first rows."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)

ESCAPED_KEY = "_flow_escaped"
"""The key of the list of escaped columns: in their values NUL is written `\\0`, a character that the database cannot
store `\\u{20AC}`, and a backslash `\\\\`."""


def row_texts(batch: pa.RecordBatch, columns: Mapping[str, str], charset: Charset = UTF8) -> list[str]:
    """Return a JSON object for each row; `columns` maps names to columns of the batch. Integers, booleans and finite
    floats are JSON values; everything else is its canonical text, with U+FFFD for invalid bytes."""
    names = [charset.escape(name) for name in columns]
    lists = [_json_values(batch.column(column)) for column in columns.values()]
    by_row = zip(*lists, strict=True) if lists else [()] * batch.num_rows
    rows = [dict(zip(names, values, strict=True)) for values in by_row]
    if any(_needs_escape(batch.column(column), charset) for column in columns.values()):
        for row in rows:
            _mark_escaped(row, charset)
    return [_ENCODER.encode(row) for row in rows]


def group_texts(
    batch: pa.RecordBatch, columns: GroupColumns, files: Mapping[int, tuple[str, str]], charset: Charset = UTF8
) -> list[str | None]:
    """Return a JSON object for each row that represents a group, None for others: the values of the group, its number
    of rows, and the file, its SHA-256 and the record of the first rows."""
    counts, records = batch.column(columns.rows).to_pylist(), batch.column(columns.records).to_pylist()
    texts = row_texts(batch, columns.values, charset)
    return [
        None if count is None else _ENCODER.encode(json.loads(text) | {GROUP_KEY: _group(count, where, files, charset)})
        for count, where, text in zip(counts, records, texts, strict=True)
    ]


def _group(count: int, records: str, files: Mapping[int, tuple[str, str]], charset: Charset) -> dict[str, Any]:
    first = [
        {"file": charset.shown(files[at["file"]][1]), "hash": files[at["file"]][0], "record": at["record"]}
        for at in json.loads(records)
    ]
    return {"rows": count, "first": first}


def raw_text(raw: str | None, charset: Charset = UTF8) -> str:
    """Return the object for a record that could not be read."""
    row = {RAW_KEY: raw}
    _mark_escaped(row, charset)
    return _ENCODER.encode(row)


def _json_values(values: pa.Array) -> list[Any]:
    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        plain: list[Any] = values.to_pylist()
        return plain
    texts: list[Any] = without_broken_bytes(canonical_text(values)).to_pylist()
    if pa.types.is_floating(kind):
        pairs = zip(values.to_pylist(), texts, strict=True)
        return [text if value is not None and not math.isfinite(value) else value for value, text in pairs]
    return texts


def _needs_escape(values: pa.Array, charset: Charset) -> bool:
    return bool(pa.types.is_string(values.type) and (holds_nul(values) or charset.lacking(values)))


def _mark_escaped(row: dict[str, Any], charset: Charset) -> None:
    """Escape the values that cannot be stored unchanged, and list their columns."""
    escaped = [name for name, value in row.items() if isinstance(value, str) and charset.must_escape(value)]
    if escaped:
        row.update({name: charset.escape(row[name]) for name in escaped}, **{ESCAPED_KEY: escaped})
