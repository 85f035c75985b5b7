"""Estimates the memory of decoded rows before decoding, from values that still refer to a dictionary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Sizes = np.ndarray[Any, Any]

_ELEMENT_BYTES = 16
"""The size of a list element in addition to its value: it becomes text."""


def bounded(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Split the batch into pieces of about `most` bytes each, with at least one row."""
    if _at_most(batch) <= most:
        yield batch
        return
    ends = np.cumsum(row_sizes(batch))
    start = 0
    while start < batch.num_rows:
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield batch.slice(start, end - start)
        start = end


def row_sizes(batch: pa.RecordBatch) -> Sizes:
    return _sum([_sizes(column) for column in batch.columns], batch.num_rows)


def _sum(sizes: Sequence[Sizes], rows: int) -> Sizes:
    total: Sizes = np.zeros(rows, dtype=np.int64)
    for part in sizes:
        total += part
    return total


def _at_most(batch: pa.RecordBatch) -> int:
    """Return a cheap upper bound."""
    return sum(_column_at_most(column) for column in batch.columns)


def _column_at_most(values: pa.Array) -> int:
    if pa.types.is_dictionary(values.type):
        longest = int(_sizes(values.dictionary).max(initial=0))
        return len(values) * longest
    if pa.types.is_nested(values.type):
        return int(_sizes(values).sum())
    return int(values.nbytes)


def _sizes(values: pa.Array) -> Sizes:
    """Return the size of each value in bytes."""
    kind = values.type
    if isinstance(kind, pa.BaseExtensionType):
        return _sizes(values.storage)
    if pa.types.is_dictionary(kind):
        return _of_dictionary(values)
    if pa.types.is_struct(kind):
        fields = [values.field(index) for index in range(kind.num_fields)]
        return _sum([_sizes(field) for field in fields], len(values))
    if pa.types.is_map(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _of_lists(values)
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        elements = values.values.slice(values.offset * size, len(values) * size)
        per_value: Sizes = (_sizes(elements) + _ELEMENT_BYTES).reshape(len(values), size).sum(axis=1)
        return per_value
    return _of_plain(values)


def _of_dictionary(values: pa.DictionaryArray) -> Sizes:
    if not len(values.dictionary):
        return np.zeros(len(values), dtype=np.int64)
    indices = pc.fill_null(values.indices, 0).to_numpy(zero_copy_only=False)
    sizes: Sizes = _sizes(values.dictionary)[indices] * pc.is_valid(values).to_numpy(zero_copy_only=False)
    return sizes


def _of_lists(values: Any) -> Sizes:
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_map(values.type):
        elements = _sizes(values.keys) + _sizes(values.items)
    elif width := _width(values.type.value_type):
        lengths: Sizes = (offsets[1:] - offsets[:-1]) * (width + _ELEMENT_BYTES)
        return lengths
    else:
        elements = _sizes(values.values)
    before = np.concatenate(([0], np.cumsum(elements + _ELEMENT_BYTES)))
    sizes: Sizes = before[offsets[1:]] - before[offsets[:-1]]
    return sizes


def _of_plain(values: pa.Array) -> Sizes:
    if width := _width(values.type):
        return np.full(len(values), width, dtype=np.int64)
    if pa.types.is_null(values.type):
        return np.zeros(len(values), dtype=np.int64)
    lengths = pc.fill_null(pc.binary_length(_measurable(values)), 0)
    sizes: Sizes = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return sizes


def _width(kind: pa.DataType) -> int:
    """Return the size of the values of a type with fixed size; 0 for other types."""
    try:
        bits = 0 if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) else int(kind.bit_width)
    except ValueError:
        return 0
    return max(1, bits // 8) if bits else 0


def _measurable(values: pa.Array) -> pa.Array:
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        return pc.cast(values, pa.large_binary())
    return values
