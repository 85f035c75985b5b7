"""Small files that expand to very much data. As a program, this writes one in a process of its own, or scans and reads
it and prints the result and the memory that it used."""

from __future__ import annotations

import gzip
import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq

from executors.errors import Failure
from executors.formats import FORMATS
from executors.formats.unions import union_of_fields
from executors.model import SourceFile
from ir.formats import Csv, Json, Jsonl, Parquet

MB = 1 << 20


def dictionary(path: Path) -> None:
    """One text of 45 KB in 65,536 rows: 2.9 GB in 614 bytes."""
    places = pa.array([0] * 65_536, pa.int32())
    _parquet(path, pa.DictionaryArray.from_arrays(places, pa.array(["x" * 45_000])))


def dictionary_in_lists(path: Path) -> None:
    """Lists of the same text."""
    elements = pa.DictionaryArray.from_arrays(pa.array([0] * 65_536, pa.int32()), pa.array(["x" * 45_000]))
    _parquet(path, pa.ListArray.from_arrays(list(range(0, 65_537, 16)), elements))


def shared_prefixes(path: Path) -> None:
    """20,000 texts of 100 KB, each of which repeats the text before."""
    texts = pa.array(["x" * 100_000] * 1000)
    with pq.ParquetWriter(
        path,
        pa.schema({"v": pa.string()}),
        use_dictionary=False,
        column_encoding={"v": "DELTA_BYTE_ARRAY"},
        compression="zstd",
    ) as writer:
        for _ in range(20):
            writer.write_table(pa.table({"v": texts}))


def one_page(path: Path) -> None:
    """One text of 500 MB."""
    _parquet(path, pa.array(["x" * (500 * MB)]), use_dictionary=False)


def one_text(path: Path) -> None:
    """A text of 100 MB among short ones."""
    _parquet(path, pa.array(["a", "x" * (100 * MB), "b"]), use_dictionary=False)


def one_list(path: Path) -> None:
    """A list of 20,000,000 numbers among short ones."""
    _parquet(path, pa.ListArray.from_arrays([0, 1, 20_000_001, 20_000_002], pa.array([0] * 20_000_002, pa.int8())))


def long_list(path: Path) -> None:
    """A list of 60,000,000 numbers."""
    _parquet(path, pa.ListArray.from_arrays([0, 60_000_000], pa.nulls(60_000_000, pa.int8()).fill_null(0)))


def nulls(path: Path) -> None:
    """50,000,000 rows of NULL."""
    _parquet(path, pa.nulls(50_000_000, pa.int64()), row_group_size=50_000_000)


def wide(path: Path) -> None:
    """4,000 columns of equal numbers."""
    column = pa.array([7] * 20_000, pa.int64())
    pq.write_table(pa.table({f"c{n}": column for n in range(4000)}), path, compression="zstd")


def _parquet(path: Path, values: Any, **how: Any) -> None:
    pq.write_table(pa.table({"v": values}), path, compression="zstd", **how)


def _write(*parts: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("wb") as file:
            for part in parts:
                file.write(part)

    return write


def keys(path: Path) -> None:
    """4,000 keys in the first record, and one key in each of 300,000 others."""
    first = json.dumps({f"k{n}": n for n in range(4000)})
    path.write_text(first + "\n" + '{"a":1}\n' * 300_000)


def keys_of_an_array(path: Path) -> None:
    first = json.dumps({f"k{n}": n for n in range(4000)})
    path.write_text("[" + first + ',{"a":1}' * 300_000 + "]")


def many_keys(path: Path) -> None:
    """Each record with a key of its own."""
    path.write_text("".join(f'{{"k{n}":1}}\n' for n in range(100_000)))


def gzipped_line(path: Path) -> None:
    """A line of 2 GB of one letter in 2 MB."""
    with gzip.open(path, "wb") as file:
        file.write(b"a\n")
        for _ in range(2000):
            file.write(b"x" * MB)


LONG, TOO_LONG = b"x" * (60 * MB), b"x" * (100 * MB)
DEEP = b"[" * (20 * MB)

CASES: dict[str, tuple[Any, Callable[[Path], None], str]] = {
    "parquet, dictionary": (Parquet(type="parquet"), dictionary, "65536 rows"),
    "parquet, dictionary in lists": (Parquet(type="parquet"), dictionary_in_lists, "source.expands_too_much"),
    "parquet, shared prefixes": (Parquet(type="parquet"), shared_prefixes, "20000 rows"),
    "parquet, one page": (Parquet(type="parquet"), one_page, "source.expands_too_much"),
    "parquet, one text": (Parquet(type="parquet"), one_text, "3 rows, 1 bad"),
    "parquet, one list": (Parquet(type="parquet"), one_list, "3 rows, 1 bad"),
    "parquet, long list": (Parquet(type="parquet"), long_list, "source.expands_too_much"),
    "parquet, nulls": (Parquet(type="parquet"), nulls, "50000000 rows"),
    "parquet, wide": (Parquet(type="parquet"), wide, "20000 rows"),
    "csv.gz, one line": (Csv(type="csv"), gzipped_line, "source.expands_too_much"),
    "csv, 100,000 columns": (
        Csv(type="csv"),
        _write(b",".join(b"c%d" % n for n in range(100_000)), b"\n", b"," * 99_999, b"\n"),
        "source.too_many_columns",
    ),
    "csv, header without end": (Csv(type="csv"), _write(b"a," * (30 * MB), b"\n1\n"), "source.header_unreadable"),
    "csv, long cell": (Csv(type="csv"), _write(b"a,b\n1,", LONG, b"\n"), "1 rows"),
    "csv, too long a cell": (Csv(type="csv"), _write(b'a,b\n1,"', TOO_LONG, b'"\n'), "source.record_too_long"),
    "jsonl, long text": (Jsonl(type="jsonl"), _write(b'{"a":"', LONG, "😀".encode(), b'"}\n'), "1 rows"),
    "jsonl, too long a text": (Jsonl(type="jsonl"), _write(b'{"a":"', TOO_LONG, b'"}\n'), "source.record_too_long"),
    "jsonl, keys": (Jsonl(type="jsonl"), keys, "300001 rows"),
    "jsonl, many keys": (Jsonl(type="jsonl"), many_keys, "source.too_many_columns"),
    "jsonl, nested": (Jsonl(type="jsonl"), _write(b'{"a":', DEEP, b"\n"), "1 rows, 1 bad"),
    "json, long text": (Json(type="json"), _write(b'[{"a":"', LONG, b'"}]'), "1 rows"),
    "json, too long a text": (Json(type="json"), _write(b'[{"a":"', TOO_LONG, b'"}]'), "source.record_too_long"),
    "json, too long beyond Latin": (
        Json(type="json"),
        _write(b'[{"a":"', "😀".encode(), LONG, b'"}]'),
        "source.record_too_long",
    ),
    "json, keys": (Json(type="json"), keys_of_an_array, "300001 rows"),
    "json, nested": (Json(type="json"), _write(b'[{"a":', DEEP), "source.malformed"),
}


def read(case: str, path: Path) -> str:
    fmt = CASES[case][0]
    handler, file = FORMATS[fmt.type], SourceFile.found(0, str(path), path.name, path.stat())
    rows = bad = 0
    try:
        scan = handler.scan(file, fmt)
        for split in scan.splits:
            for batch in handler.read(split, fmt, union_of_fields([scan])):
                rows += batch.num_rows
                bad += batch.num_rows - batch.column("_flow_bad").null_count
    except Failure as failure:
        return failure.code
    return f"{rows} rows, {bad} bad" if bad else f"{rows} rows"


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    if sys.argv[1] == "write":
        CASES[sys.argv[2]][1](Path(sys.argv[3]))
    else:
        before = peak()
        print(json.dumps([read(sys.argv[2], Path(sys.argv[3])), peak() - before]))
