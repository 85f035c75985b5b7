"""Text files that are compressed as a whole: the same rows, or a refusal; never a part of the rows."""

from __future__ import annotations

import bz2
import gzip
import zlib
from typing import Any

import pytest
from backports import zstd

from executors.detection import detect
from executors.errors import Terminal
from executors.formats import compression
from executors.formats.csv import read_header
from executors.formats.files import LOCAL_FILES
from executors.formats.format_mismatches import mismatches_of
from ir.formats import Csv, Json, Jsonl
from tests.executors.formats.conftest import FileReader, visible

CSV = b"id,name\n" + b"".join(b"%d,name %d\n" % (n, n) for n in range(5000))


def zstandard(text: bytes) -> bytes:
    """Compress with a checksum, as the program `zstd` does."""
    return zstd.compress(text, options={zstd.CompressionParameter.checksum_flag: 1})


COMPRESSIONS: dict[str, Any] = {"gzip": gzip.compress, "bzip2": bz2.compress, "Zstandard": zstandard}
FORMATS: dict[str, tuple[Any, bytes]] = {
    "csv": (Csv(type="csv"), CSV),
    "csv with a mark": (Csv(type="csv"), b"\xef\xbb\xbf" + CSV),
    "csv in another encoding": (Csv(type="csv", encoding="utf-16"), CSV.decode().encode("utf-16")),
    "jsonl": (Jsonl(type="jsonl"), b"".join(b'{"id":"%d","name":"name %d"}\n' % (n, n) for n in range(5000))),
    "json": (Json(type="json"), b"[" + b",".join(b'{"id":%d,"name":"name %d"}' % (n, n) for n in range(5000)) + b"]"),
}
ROWS = [{"id": str(n), "name": f"name {n}"} for n in range(5000)]


@pytest.fixture(params=COMPRESSIONS)
def compress(request: pytest.FixtureRequest) -> Any:
    return COMPRESSIONS[request.param]


@pytest.mark.parametrize("case", FORMATS)
def test_the_rows_are_those_of_the_text(reader: FileReader, compress: Any, case: str) -> None:
    fmt, text = FORMATS[case]
    scan = reader.scan(compress(text), fmt, split_bytes=1000) if case != "json" else reader.scan(compress(text), fmt)
    assert len(scan.splits) == 1
    rows = reader.read(scan, fmt, block_bytes=1000)
    assert [visible(row) for row in rows] == ROWS
    assert [row["_flow_record"] for row in rows] == list(range(1, 5001))


@pytest.mark.parametrize("case", FORMATS)
def test_the_head_is_that_of_the_text(reader: FileReader, compress: Any, case: str) -> None:
    from executors.formats import FORMATS as HANDLERS

    fmt, text = FORMATS[case]
    scan = HANDLERS[fmt.type].scan_head(reader.file(compress(text)), fmt, most_bytes=1000)
    assert 10 < scan.records < 100
    assert [row["id"] for row in reader.read(scan, fmt)[: scan.records]] == [row["id"] for row in ROWS[: scan.records]]


def test_several_members_are_one_text(reader: FileReader, compress: Any) -> None:
    parts = [CSV[:7], b"", CSV[7:1003], CSV[1003:]]
    assert reader.rows(b"".join(map(compress, parts)), Csv(type="csv")) == ROWS


@pytest.mark.parametrize(
    "content", [gzip.compress(CSV) + bytes(500), b"\x50\x2a\x4d\x18\3\0\0\0abc" + zstd.compress(CSV)]
)
def test_padding_and_skippable_frames_hold_no_text(reader: FileReader, content: bytes) -> None:
    assert reader.rows(content, Csv(type="csv")) == ROWS


def test_an_archive_of_nothing_is_blank(reader: FileReader, compress: Any) -> None:
    assert reader.scan(compress(b""), Csv(type="csv")).is_blank


@pytest.mark.parametrize("case", ["csv", "jsonl", "json"])
@pytest.mark.parametrize("damage", ["truncated", "truncated between", "another byte", "garbage", "half a member"])
def test_a_damaged_archive_gives_no_row(reader: FileReader, compress: Any, case: str, damage: str) -> None:
    fmt, text = FORMATS[case]
    whole = compress(text)
    broken = {
        "truncated": whole[:-1],
        "truncated between": whole[: len(whole) // 2],
        "another byte": whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 8]) + whole[len(whole) // 2 + 1 :],
        "garbage": whole + b"id\n",
        "half a member": whole + whole[:12],
    }[damage]
    with pytest.raises(Terminal, match="cannot be unpacked") as refused:
        reader.scan(broken, fmt)
    assert refused.value.code == "source.malformed"


def test_a_wrong_checksum_is_refused(reader: FileReader) -> None:
    whole = bytearray(gzip.compress(CSV))
    whole[-8] ^= 1
    with pytest.raises(Terminal, match="incorrect data check"):
        reader.scan(bytes(whole), Csv(type="csv"))


def test_what_is_compressed_twice_is_refused(reader: FileReader, compress: Any) -> None:
    for fmt in (Csv(type="csv"), Jsonl(type="jsonl")):
        with pytest.raises(Terminal, match="compressed once more"):
            reader.scan(compress(gzip.compress(CSV)), fmt)


@pytest.mark.slow
def test_a_file_that_expands_too_much_is_refused(reader: FileReader, compress: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(compression, "FREE_BYTES", 1 << 20)
    with pytest.raises(Terminal) as refused:
        reader.scan(compress(b"a\n" + b"1\n" * (2 << 20)), Csv(type="csv"))
    assert refused.value.code == "source.expands_too_much"


def test_a_step_of_a_bomb_is_bounded() -> None:
    """Whatever one block holds, its text comes in blocks of bounded size."""
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(40)) + packer.flush()
    sizes = [len(block) for block in compression.expand([bomb], compression.compression_of(bomb), "x")]  # type: ignore[arg-type]
    assert (sum(sizes), max(sizes)) == (40 << 20, 2 << 20)


def test_the_header_and_the_mismatches_are_those_of_the_text(reader: FileReader, compress: Any) -> None:
    file = reader.file(compress(b"a;b\n1;2\n3;4\n"))
    assert read_header(file, Csv(type="csv", delimiter=";"), LOCAL_FILES) == ["a", "b"]
    assert mismatches_of([file], Csv(type="csv"), LOCAL_FILES) == ("one column, ';' looks like the delimiter",)


@pytest.mark.parametrize("is_whole", [True, False])
def test_settings_are_detected_in_the_text(compress: Any, is_whole: bool) -> None:
    text = CSV.replace(b",", b";") if is_whole else b"id;name\n" + b"".join(b"%d;%d!\n" % (n, n) for n in range(99_999))
    head = compress(text)
    found = detect(head if is_whole else head[:-100], "x.csv.gz", is_whole=is_whole)
    assert (found.format.type, found.format.delimiter) == ("csv", ";")  # type: ignore[attr-defined]
    assert [column.type for column in found.columns] == ["integer", "string"]
    assert found.is_whole is is_whole


def test_what_is_not_text_is_not_read_from_an_archive() -> None:
    for content in (b"PAR1" + bytes(100), b"%PDF-1.7\n"):
        with pytest.raises(Terminal) as refused:
            detect(gzip.compress(content), "x.gz", is_whole=True)
        assert refused.value.code == "detection.unreadable"
