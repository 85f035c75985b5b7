"""Files that change between the scan and the reading of a split, or while a split is read."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc as orc_files
from pyarrow import parquet as pq

from executors.errors import Transient
from executors.formats import FORMATS
from executors.formats.verified import CHECKED_BYTES, Checksums, VerifiedStream
from executors.model import FileScan
from ir.formats import Avro, Csv, FixedWidth, Json, Jsonl, Orc, Parquet
from tests.executors.formats.conftest import FileReader

NUMBERS = range(100_000, 250_000)


def avro(numbers: Any) -> bytes:
    out = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}, {"name": "t", "type": "string"}]}
    fastavro.writer(out, schema, [{"n": n, "t": "x" * 20} for n in numbers], sync_marker=bytes(16))
    return out.getvalue()


def orc(numbers: Any) -> bytes:
    out = io.BytesIO()
    texts = [f"{n:020}" for n in numbers]
    orc_files.write_table(pa.table({"n": pa.array(numbers, pa.int64()), "t": texts}), out)
    return out.getvalue()


def parquet(numbers: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), out, compression="none", use_dictionary=False)
    return out.getvalue()


CASES: dict[str, tuple[Any, Callable[[Any], bytes]]] = {
    "csv": (Csv(type="csv"), lambda numbers: b"n\n" + b"".join(b"%d\n" % n for n in numbers)),
    "csv in another encoding": (
        Csv(type="csv", encoding="latin-1"),
        lambda numbers: b"n\n" + b"".join(b"%d\n" % n for n in numbers),
    ),
    "csv, compressed": (
        Csv(type="csv"),
        lambda numbers: gzip.compress(b"n\n" + b"".join(b"%d\n" % n for n in numbers), 0, mtime=0),
    ),
    "fixed width": (
        FixedWidth.read({"type": "fixed_width", "columns": [{"name": "n", "width": 6}]}),
        lambda numbers: b"".join(b"%d\n" % n for n in numbers),
    ),
    "jsonl": (Jsonl(type="jsonl"), lambda numbers: b"".join(b'{"n":%d}\n' % n for n in numbers)),
    "json": (Json(type="json"), lambda numbers: b"[" + b",".join(b'{"n":%d}' % n for n in numbers) + b"]"),
    "parquet": (Parquet(type="parquet"), parquet),
    "avro": (Avro(type="avro"), avro),
    "orc": (Orc(type="orc"), orc),
}


def overwritten(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def replaced(path: Path, content: bytes) -> None:
    path.with_name("new").write_bytes(content)
    path.with_name("new").rename(path)


def truncated(path: Path, content: bytes) -> None:
    os.truncate(path, path.stat().st_size // 2)


def appended(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(b"1\n")


def with_its_time(change: Callable[[Path, bytes], None], path: Path, content: bytes) -> None:
    """Change a file and restore its modification time."""
    status = path.stat()
    change(path, content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, bytes, bytes]:
    """A format, a file, and another one of the same size."""
    fmt, write = CASES[request.param]
    one, other = write(NUMBERS), write([n + 1 for n in NUMBERS])
    assert len(one) == len(other) > CHECKED_BYTES
    return fmt, one, other


def refuse(read: Callable[[], Any]) -> None:
    with pytest.raises(Transient) as failure:
        read()
    assert failure.value.code == "source.changed"


@pytest.mark.parametrize(
    "change", [overwritten, *(pytest.param(c, marks=pytest.mark.slow) for c in (replaced, truncated)), appended]
)
def test_a_file_that_changed_after_the_scan_is_not_read(reader: FileReader, case: Any, change: Any) -> None:
    fmt, one, other = case
    scan = reader.scan(one, fmt)
    with_its_time(change, Path(scan.file.path), other)
    refuse(lambda: reader.read(scan, fmt))


@pytest.mark.parametrize(
    "change", [overwritten, *(pytest.param(c, marks=pytest.mark.slow) for c in (truncated, appended))]
)
def test_a_file_that_changes_while_it_is_read_never_gives_other_rows(
    reader: FileReader, case: Any, change: Any
) -> None:
    fmt, one, other = case
    scan = reader.scan(one, fmt)
    batches = (b for split in scan.splits for b in FORMATS[fmt.type].read(split, fmt, scan.fields, block_bytes=1 << 16))
    read = [next(batches)]
    with_its_time(change, Path(scan.file.path), other)
    if (fmt.type, change) == ("parquet", overwritten):  # all of it was in memory before
        assert [n for batch in (*read, *batches) for n in batch.column("n").to_pylist()] == list(NUMBERS)
    else:
        refuse(lambda: list(batches))


@pytest.mark.parametrize("fmt", ["csv", "parquet"])
def test_what_was_opened_is_read_to_its_end_when_another_file_takes_its_place(reader: FileReader, fmt: str) -> None:
    kind, write = CASES[fmt]
    scan = reader.scan(write(NUMBERS), kind)
    batches = (b for split in scan.splits for b in FORMATS[fmt].read(split, kind, scan.fields, block_bytes=1 << 16))
    first = next(batches)
    replaced(Path(scan.file.path), write([n + 1 for n in NUMBERS]))
    read = [int(n) for batch in (first, *batches) for n in batch.column("n").to_pylist()]
    assert read == list(NUMBERS)


@pytest.mark.parametrize("touch", [lambda path: os.chmod(path, 0o600), lambda path: os.link(path, f"{path}.second")])
def test_new_permissions_and_names_are_no_change(reader: FileReader, tmp_path: Path, touch: Any) -> None:
    kind, write = CASES["csv"]
    scan = FileReader(tmp_path).scan(write(NUMBERS), kind)
    touch(scan.file.path)
    assert len(reader.read(scan, kind)) == len(NUMBERS)


def test_a_file_that_is_changed_between_its_listing_and_the_scan_is_not_scanned(reader: FileReader) -> None:
    kind, write = CASES["csv"]
    file = reader.file(write(NUMBERS))
    with_its_time(overwritten, Path(file.path), write([n + 1 for n in NUMBERS]))
    refuse(lambda: FORMATS["csv"].scan(file, kind))


def test_any_part_of_a_file_can_be_read_and_is_compared() -> None:
    content = os.urandom(3 * CHECKED_BYTES + 5)
    sums = Checksums()
    for start in range(0, len(content), 700_001):
        sums.add(content[start : start + 700_001])
    stream = VerifiedStream(io.BytesIO(content), len(content), sums.finish(), lambda: ValueError("changed"))
    for start, size in ((0, 10), (CHECKED_BYTES - 1, 2), (5, 3 * CHECKED_BYTES), (len(content) - 3, 100), (0, -1)):
        stream.seek(start)
        assert stream.read(size) == content[start : None if size < 0 else start + size]
    broken = bytearray(content)
    broken[2 * CHECKED_BYTES] ^= 1
    stream = VerifiedStream(io.BytesIO(broken), len(content), sums.finish(), lambda: ValueError("changed"))
    assert len(stream.read(2 * CHECKED_BYTES)) == 2 * CHECKED_BYTES
    with pytest.raises(ValueError, match="changed"):
        stream.read(1)


def test_a_scan_hands_on_its_checksums(reader: FileReader) -> None:
    from executors.spark.scan import decode_scan, encode_scan

    kind, write = CASES["csv"]
    scan: FileScan = reader.scan(write(NUMBERS), kind, split_bytes=100_000)
    assert decode_scan(encode_scan(scan), {scan.file.seq: scan.file}) == scan
    assert len(scan.splits) > 1
