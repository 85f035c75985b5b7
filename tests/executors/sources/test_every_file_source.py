"""The common behaviour of all connectors of files: find, open, seek, detect changes."""

from __future__ import annotations

import pickle
import time
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from executors.errors import Transient
from executors.formats import FORMATS
from executors.formats.files import sha256_of
from executors.model import SourceFile
from executors.sources import load_file_source
from executors.sources.base import Claimant, FileSource, Listing, SourceContext
from ir.formats import Jsonl
from ir.nodes import Source
from tests.connectors.storages import STORAGES, Storage, place_of

LATER = 4e9
"""A time at which every file is old."""


@pytest.fixture(params=STORAGES)
def storage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    return STORAGES[request.param](tmp_path, monkeypatch)


def opened(storage: Storage, folder: Path, **config: Any) -> FileSource:
    settings = {
        **place_of(storage),
        "pattern": {"type": "glob", "value": "*.jsonl"},
        "format": {"type": "jsonl"},
        **config,
    }
    source = Source(id="src", kind="source", connector=storage.connector, config=settings)
    claimant = Claimant("orders", frozenset(["src"]))
    return load_file_source(source, SourceContext(folder, claimant, store=storage.connection))


def listed(handler: FileSource, now: float = LATER) -> Listing:
    def none_whole(files: Sequence[SourceFile]) -> Collection[str]:
        return ()

    return handler.list_files(now, none_whole)


def test_matching_files_are_listed_in_order(storage: Storage, tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "c.csv"):
        storage.write(name, b"{}\n")
    files = listed(opened(storage, tmp_path)).files
    assert [(file.seq, Path(file.name).name, file.size) for file in files] == [(0, "a.jsonl", 3), (1, "b.jsonl", 3)]


def test_a_young_file_is_unsettled(storage: Storage, tmp_path: Path) -> None:
    storage.write("a.jsonl", b"{}\n")
    listing = listed(opened(storage, tmp_path), now=0)
    assert (listing.files, [Path(file.name).name for file in listing.unsettled]) == ((), ["a.jsonl"])


def test_any_range_of_a_file_can_be_read(storage: Storage, tmp_path: Path) -> None:
    storage.write("a.jsonl", b"0123456789")
    handler = opened(storage, tmp_path)
    (file,) = listed(handler).files
    with handler.store.open(file) as stream:
        assert stream.read(3) == b"012"
        stream.seek(7)
        assert stream.read(2) == b"78"
        stream.seek(0)
        assert stream.read() == b"0123456789"


@pytest.mark.parametrize("content", [b"1", b"22"], ids=["of another size", "of the same size"])
def test_a_file_that_was_replaced_is_not_read(storage: Storage, tmp_path: Path, content: bytes) -> None:
    storage.write("a.jsonl", b"11")
    handler = opened(storage, tmp_path)
    (file,) = listed(handler).files
    storage.write("a.jsonl", content)
    with pytest.raises(Transient, match=r"^source\.changed"), handler.store.open(file):
        pass


def test_a_file_that_is_gone_is_reported_as_changed(storage: Storage, tmp_path: Path) -> None:
    storage.write("a.jsonl", b"1")
    storage.write("b.jsonl", b"1")
    handler = opened(storage, tmp_path)
    gone = listed(handler).files[0]
    storage.remove("a.jsonl")
    with pytest.raises(Transient, match=r"^source\.changed.* was deleted"), handler.store.open(gone):
        pass


def test_a_file_is_read_where_only_its_store_was_sent(storage: Storage, tmp_path: Path) -> None:
    storage.write("a.jsonl", b'{"id": 1}\n{"id": 2}\n')
    handler, fmt = opened(storage, tmp_path), Jsonl(type="jsonl")
    (file,) = listed(handler).files
    scan = FORMATS["jsonl"].scan(file, fmt, store=handler.store)
    store = pickle.loads(pickle.dumps(handler.store))
    batches = [b for split in scan.splits for b in FORMATS["jsonl"].read(split, fmt, scan.fields, store=store)]
    assert [row["id"] for batch in batches for row in batch.to_pylist()] == ["1", "2"]
    assert scan.sha256 == sha256_of(file, store)


def test_a_file_that_is_read_in_place_is_claimed_and_archived_where_it_is(storage: Storage, tmp_path: Path) -> None:
    storage.write("a.jsonl", b"1")
    handler = opened(storage, tmp_path)
    (file,) = listed(handler).files
    assert handler.claim(file) == file
    handler.archive(file, succeeded=True)
    handler.requeue(file)
    assert listed(handler).files == (file,)
    assert handler.list_claimed(LATER) == ()


NAMES = ("d_20240229.jsonl", "d_20240301.jsonl", "e_20240229.jsonl", "d_20240229.jsonl.part")
LEAP_DAY = datetime(2024, 2, 29, 23, 30, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ({"type": "glob", "value": "d_*.jsonl"}, ["d_20240229.jsonl", "d_20240301.jsonl"]),
        ({"type": "regex", "value": r"[de]_2024\d{2}29\.jsonl"}, ["d_20240229.jsonl", "e_20240229.jsonl"]),
        ({"type": "date_template", "value": "d_{YYYYMMDD}.jsonl"}, ["d_20240229.jsonl"]),
        ({"type": "date_template", "value": "d_{YYYYMMDD}.jsonl", "timezone": "Asia/Tokyo"}, ["d_20240301.jsonl"]),
    ],
    ids=["glob", "regex", "date", "date in a zone"],
)
def test_names_match_as_a_whole(storage: Storage, tmp_path: Path, pattern: dict[str, str], expected: list[str]) -> None:
    for name in NAMES:
        storage.write(name, b"{}\n")
    found = opened(storage, tmp_path, pattern=pattern).find_files(LEAP_DAY)
    assert sorted(PurePosixPath(file.name).name for file in found) == expected


@pytest.mark.parametrize("ordering", ["fifo_by_name", "lexicographic", "process_all"])
def test_files_are_listed_by_name_whatever_the_order_of_their_arrival(
    storage: Storage, tmp_path: Path, ordering: str
) -> None:
    for name in ("b.jsonl", "a.jsonl", "10.jsonl", "9.jsonl"):
        storage.write(name, b"{}\n")
    source = opened(storage, tmp_path, ordering=ordering, waitPolicy={"settleSeconds": 0})
    listed = [PurePosixPath(file.name).name for file in source.list_files(LATER, lambda files: ()).files]
    assert listed == ["10.jsonl", "9.jsonl", "a.jsonl", "b.jsonl"]


@pytest.mark.slow
def test_the_newest_file_alone_is_listed(storage: Storage, tmp_path: Path) -> None:
    storage.write("b.jsonl", b"{}\n")
    time.sleep(1.1)  # some stores have times in whole seconds
    storage.write("a.jsonl", b"{}\n")
    source = opened(storage, tmp_path, ordering="latest_by_mtime", waitPolicy={"settleSeconds": 0})
    (file,) = source.list_files(LATER, lambda files: ()).files
    assert PurePosixPath(file.name).name == "a.jsonl"
