"""The members of ZIP archives: each gives its own rows, or the archive is refused; never a part of the rows."""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from executors.errors import InvalidContent, Transient
from executors.formats import FORMATS, zip_archives
from executors.formats.files import LOCAL_FILES, sha256_of
from executors.formats.zip_archives import Members, WithMembers, list_members
from executors.model import SourceFile
from executors.spark.scan import decode_scan, encode_scan
from ir.formats import Csv, FixedWidth, Json, Jsonl, Tsv, Xml
from tests.executors.formats.conftest import FileReader, visible
from tests.executors.formats.zips import packed

CSV = b"id,name\n" + b"".join(b"%d,name %d\n" % (n, n) for n in range(5000))
STORE = WithMembers(LOCAL_FILES)
ROWS = [{"id": str(n), "name": f"name {n}"} for n in range(500)]
TEXTS: dict[str, tuple[Any, bytes]] = {
    "csv": (Csv(type="csv"), b"id,name\n" + b"".join(b"%d,name %d\n" % (n, n) for n in range(500))),
    "tsv": (Tsv(type="tsv"), b"id\tname\n" + b"".join(b"%d\tname %d\n" % (n, n) for n in range(500))),
    "fixed_width": (
        FixedWidth(type="fixed_width", columns=[{"name": "id", "width": 3}, {"name": "name", "width": 8}]),
        b"".join(b"%-3dname %-3d\n" % (n, n) for n in range(500)),
    ),
    "json": (Json(type="json"), b"[" + b",".join(b'{"id":"%d","name":"name %d"}' % (n, n) for n in range(500)) + b"]"),
    "jsonl": (Jsonl(type="jsonl"), b"".join(b'{"id":"%d","name":"name %d"}\n' % (n, n) for n in range(500))),
    "xml": (
        Xml(type="xml", recordPath="all/one"),
        b"<all>" + b"".join(b"<one><id>%d</id><name>name %d</name></one>" % (n, n) for n in range(500)) + b"</all>",
    ),
}


def listed(reader: FileReader, content: bytes, ending: str = "") -> Members:
    return list_members(reader.file(content, "a.zip"), LOCAL_FILES, lambda name: name.endswith(ending))


def names(members: Members) -> list[str]:
    return [file.name for file in members.files]


def content_of(file: SourceFile) -> bytes:
    with STORE.open(file) as stream:
        return stream.read()


def refusal(reader: FileReader, content: bytes) -> str:
    """Return the code with which the archive is refused, when it is listed or read."""

    def read() -> None:
        for file in listed(reader, content).files:
            content_of(file)

    with pytest.raises(InvalidContent) as refused:
        read()
    return refused.value.code


# --- what is read -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED], ids=["deflate", "stored"])
@pytest.mark.parametrize("case", TEXTS)
def test_the_rows_of_a_member_are_those_of_its_text(reader: FileReader, case: str, method: int) -> None:
    fmt, text = TEXTS[case]
    (_, file) = listed(reader, packed({"a": b"", "b": text}, method)).files
    scan = FORMATS[case].scan(file, fmt, store=STORE)
    scan = decode_scan(encode_scan(scan), {file.seq: file})
    rows = [
        row
        for split in scan.splits
        for b in FORMATS[case].read(split, fmt, scan.fields, store=STORE)
        for row in b.to_pylist()
    ]
    assert [visible(row) for row in rows] == ROWS
    assert (scan.file, scan.sha256) == (file, hashlib.sha256(text).hexdigest())


def test_a_member_is_one_split(reader: FileReader) -> None:
    (file,) = listed(reader, packed({"a.csv": CSV})).files
    scan = FORMATS["csv"].scan(file, Csv(type="csv"), store=STORE, split_bytes=1000)  # type: ignore[call-arg]
    assert [(split.start, split.end, split.records) for split in scan.splits] == [(0, len(CSV), 5000)]


def test_the_head_of_a_member_is_that_of_its_text(reader: FileReader) -> None:
    (file,) = listed(reader, packed({"a.csv": CSV})).files
    scan = FORMATS["csv"].scan_head(file, Csv(type="csv"), store=STORE, most_bytes=1000)
    assert 10 < scan.records < 100


def test_a_member_can_be_read_from_any_place(reader: FileReader) -> None:
    (file,) = listed(reader, packed({"a.csv": CSV})).files
    with STORE.open(file) as stream:
        for place in (0, 40_000, 10, len(CSV) - 5, 0):
            stream.seek(place)
            assert stream.read(5) == CSV[place : place + 5]


def test_members_are_named_and_ordered_by_their_names(reader: FileReader) -> None:
    found = listed(reader, packed({"b.csv": b"b", "sub/a.csv": b"aa", "c.txt": b"", "sub\\z.csv": b""}), ".csv")
    assert names(found) == ["a.zip/b.csv", "a.zip/sub/a.csv", "a.zip/sub/z.csv"]
    assert ([file.size for file in found.files], found.others) == ([1, 2, 0], ("c.txt",))


def test_directories_and_what_systems_add_are_no_members(reader: FileReader) -> None:
    extras = {"sub/": b"", "__MACOSX/sub/._a.csv": b"x", ".DS_Store": b"x", "sub/._a.csv": b"x", "sub/a.csv": b"a"}
    found = listed(reader, packed(extras))
    assert (names(found), found.others) == (["a.zip/sub/a.csv"], ())


def test_equal_members_of_different_archives_have_one_hash(reader: FileReader) -> None:
    (one,) = listed(reader, packed({"x": CSV})).files
    first = sha256_of(one, STORE)
    (other,) = listed(reader, packed({"y": CSV}, zipfile.ZIP_STORED)).files
    assert first == sha256_of(other, STORE) == hashlib.sha256(CSV).hexdigest()


def test_archives_with_64_bit_sizes_are_read(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    content = packed({"a": CSV, "b": CSV[:500]})
    assert content.count(b"PK\x06\x06") == 1
    assert [content_of(file) for file in listed(reader, content).files] == [CSV, CSV[:500]]


def test_an_archive_that_a_program_streamed_is_read(reader: FileReader) -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    out = Pipe()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", CSV)
    assert [content_of(file) for file in listed(reader, out.getvalue()).files] == [CSV]


def test_an_archive_that_is_replaced_is_not_read(reader: FileReader) -> None:
    (file,) = listed(reader, packed({"a": CSV})).files
    reader.file(packed({"a": CSV, "b": CSV}), "a.zip")
    with pytest.raises(Transient, match=r"^source\.changed.*a\.zip"):
        content_of(file)


# --- what is refused --------------------------------------------------------------------------------------------


def changed(content: bytes, at: int, to: bytes) -> bytes:
    return content[:at] + to + content[at + len(to) :]


def entry(content: bytes, number: int = 0) -> int:
    """Return where the entry of a member begins in the directory."""
    at = content.index(b"PK\x01\x02")
    for _ in range(number):
        at = content.index(b"PK\x01\x02", at + 4)
    return at


def test_damaged_archives_are_refused(reader: FileReader) -> None:
    whole = packed({"a": CSV, "b": CSV})
    half = packed({"a": CSV}, zipfile.ZIP_STORED)
    damaged = {
        "no archive": b"id,name\n1,Ann\n",
        "nothing": b"",
        "truncated": whole[:-30],
        "only the start": whole[: len(whole) // 2],
        "another byte": changed(half, 100, b"X"),
        "a wrong checksum": changed(whole, entry(whole) + 16, b"\0\0\0\0"),
        "a smaller size": changed(whole, entry(whole) + 24, struct.pack("<I", len(CSV) - 1)),
        "a larger size": changed(whole, entry(whole) + 24, struct.pack("<I", len(CSV) + 1)),
        "no local header": changed(whole, 0, b"XX"),
        "a name that is no UTF-8": changed(changed(whole, entry(whole) + 46, b"\xff"), entry(whole) + 8, b"\0\x08"),
    }
    assert {case: refusal(reader, content) for case, content in damaged.items()} == dict.fromkeys(
        damaged, "source.malformed"
    )


def test_members_that_overlap_are_refused(reader: FileReader) -> None:
    whole = packed({"a": CSV, "b": CSV})
    first_place = whole[entry(whole) + 42 : entry(whole) + 46]
    assert refusal(reader, changed(whole, entry(whole, 1) + 42, first_place)) == "source.malformed"
    assert refusal(reader, changed(whole, entry(whole) + 20, struct.pack("<I", len(whole)))) == "source.malformed"


def test_a_link_is_refused(reader: FileReader) -> None:
    whole = packed({"a.csv": b"/etc/passwd"})
    assert refusal(reader, changed(whole, entry(whole) + 38, struct.pack("<I", 0o120777 << 16))) == "source.malformed"


def test_an_encrypted_member_is_refused(reader: FileReader) -> None:
    whole = packed({"a.csv": CSV})
    assert refusal(reader, changed(whole, entry(whole) + 8, b"\1")) == "source.encrypted"


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA, 9, 93], ids=["bzip2", "lzma", "9", "zstd"])
def test_other_methods_are_refused(reader: FileReader, method: int) -> None:
    whole = packed({"a.csv": CSV})
    assert refusal(reader, changed(whole, entry(whole) + 10, struct.pack("<H", method))) == "source.method_unsupported"


@pytest.mark.parametrize("name", ["/a.csv", "C:\\a.csv", "../a.csv", "x/../../a.csv", "..\\a.csv", "n" * 701])
def test_names_that_lead_elsewhere_are_refused(reader: FileReader, name: str) -> None:
    assert refusal(reader, packed({name: CSV})) == "source.member_name"


def test_two_members_of_one_name_are_refused(reader: FileReader) -> None:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("a", b"1")
        archive.writestr("a", b"2")
    assert refusal(reader, out.getvalue()) == "source.member_name"


@pytest.mark.parametrize("files", [{}, {"readme.md": b"x"}, {"sub/": b""}], ids=["empty", "others", "directories"])
def test_an_archive_without_a_matching_member_is_refused(reader: FileReader, files: dict[str, bytes]) -> None:
    with pytest.raises(InvalidContent, match=r"^source\.no_members"):
        listed(reader, packed(files), ".csv")


def test_many_members_are_refused(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archives, "MOST_MEMBERS", 3)
    assert names(listed(reader, packed(dict.fromkeys("abc", b"")))) == ["a.zip/a", "a.zip/b", "a.zip/c"]
    assert refusal(reader, packed(dict.fromkeys("abcd", b""))) == "source.too_many_members"


def test_a_large_directory_is_not_read(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archives, "MOST_DIRECTORY_BYTES", 2000)
    assert refusal(reader, packed({f"{n:0100}": b"" for n in range(20)})) == "source.too_many_members"


def test_a_bomb_is_refused_by_what_its_directory_says(reader: FileReader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zip_archives, "FREE_BYTES", 1 << 20)
    assert refusal(reader, packed({"a": bytes(1 << 19), "b": bytes((1 << 19) + 1)})) == "source.expands_too_much"


def test_a_bomb_that_hides_its_size_gives_no_more_than_it_says(reader: FileReader) -> None:
    whole = packed({"a": bytes(64 << 20)})
    (file,) = listed(reader, changed(whole, entry(whole) + 24, struct.pack("<I", 10))).files
    with STORE.open(file) as stream, pytest.raises(InvalidContent, match="cannot be unpacked"):
        stream.read()


def test_nothing_is_written(reader: FileReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in listed(reader, packed({"sub/a.csv": CSV})).files:
        content_of(file)
    assert list(tmp_path.iterdir()) == []
