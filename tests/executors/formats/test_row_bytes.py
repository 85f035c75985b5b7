"""The memory of decoded rows, and batches of a limited size."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from executors.formats import parquet_limits
from executors.formats.row_bytes import bounded, row_sizes
from ir.formats import Parquet
from tests.executors.formats.conftest import FileReader

TEXTS = pa.array(["a" * 10, None, "a" * 10, "b" * 300])


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        (pa.array([1, None], pa.int64()), [8, 8]),
        (pa.array([True, None]), [1, 1]),
        (TEXTS, [10, 0, 10, 300]),
        (TEXTS.dictionary_encode(), [10, 0, 10, 300]),
        (TEXTS.dictionary_encode().slice(2), [10, 300]),
        (TEXTS.cast(pa.string_view()), [10, 0, 10, 300]),
        (pa.array([[1, 2], None, []], pa.list_(pa.int64())), [48, 0, 0]),
        (pa.array([["ab", None], None, []]), [34, 0, 0]),
        (pa.array([["ab"], ["c"], []]).slice(1), [17, 0]),
        (pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)).slice(1), [48]),
        (pa.array([{"a": "xyz", "b": 1}, None]), [11, 8]),
        (pa.array([[("k", "vv")], []], pa.map_(pa.string(), pa.string())), [19, 0]),
        (pa.nulls(2), [0, 0]),
    ],
)
def test_sizes_of_rows(values: Any, sizes: list[int]) -> None:
    assert row_sizes(pa.RecordBatch.from_arrays([values], ["v"])).tolist() == sizes


def test_pieces_are_bounded_and_hold_all_rows_in_order() -> None:
    places = pa.array(np.arange(1000) % 3, pa.int32())
    values = pa.DictionaryArray.from_arrays(places, pa.array(["a", "b" * 100, "c" * 2000]))
    batch = pa.RecordBatch.from_arrays([values], ["v"])
    pieces = list(bounded(batch, 1500))
    assert all(piece.num_rows == 1 or row_sizes(piece).sum() <= 1500 for piece in pieces)
    assert [value for piece in pieces for value in piece.column(0).to_pylist()] == values.to_pylist()
    assert list(bounded(batch, 10_000_000)) == [batch]


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
@pytest.mark.parametrize("short", [1, 1 << 20], ids=["kept", "decoded"])
def test_values_are_the_same_whether_their_dictionary_is_kept_or_not(
    reader: FileReader, monkeypatch: pytest.MonkeyPatch, compression: str, short: int
) -> None:
    monkeypatch.setattr(parquet_limits, "SHORT_BYTES", short)
    long = [["x" * 400, None, "y", str(n)][n % 4] for n in range(3000)]
    out = io.BytesIO()
    columns = {
        "text": pa.array(long),
        "bytes": pa.array([value and value.encode() for value in long], pa.binary()),
        "json": pa.array(['{"a":1}'] * 3000, pa.json_()),
        "list": pa.array([[value, "z"] for value in long]),
        "record": pa.array([{"a": value} for value in long]),
    }
    pq.write_table(pa.table(columns), out, compression=compression, row_group_size=1000, dictionary_pagesize_limit=500)
    rows = reader.rows(out.getvalue(), Parquet(type="parquet"))
    assert [row["text"] for row in rows] == long
    assert [row["bytes"] for row in rows] == [value and value.encode() for value in long]
    assert rows[0]["list"] == '["' + "x" * 400 + '", "z"]'
    assert rows[1]["record"] == '{"a": null}'
    assert {row["json"] for row in rows} == {'{"a":1}'}
