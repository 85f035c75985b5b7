"""The files of a source that samples and previews read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from executors.errors import Terminal
from executors.sources import newest
from executors.sources.base import Claimant, SourceContext
from executors.sources.local_fs import LocalFs
from executors.sources.newest import NewestFiles, find_newest
from ir.nodes import Source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def put(folder: Path, name: str, size: int, age: float) -> None:
    (folder / name).write_bytes(b"x" * size)
    os.utime(folder / name, (time.time() - age,) * 2)


def find(folder: Path, most_bytes: int = 100) -> NewestFiles:
    config = {"path": "in", "pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}}
    source = Source(id="src", kind="source", connector="local_fs", config=config)
    context = SourceContext(folder.parent, Claimant("orders", frozenset(["src"])), read_only=True)
    return find_newest(source, LocalFs(source, context), lambda files: (), most_bytes)


def names(found: NewestFiles) -> list[str]:
    return [Path(file.name).name for file in found.files]


def test_the_newest_files_that_fit_are_taken_in_the_order_of_the_source(folder: Path) -> None:
    for name, age in (("a", 200), ("b", 900), ("c", 100)):
        put(folder, name, 50, age)
    found = find(folder)
    assert (names(found), [file.seq for file in found.files], found.left_out) == (["a", "c"], [0, 1], 1)


def test_the_newest_file_is_taken_whatever_its_size(folder: Path) -> None:
    put(folder, "large", 500, 100)
    put(folder, "small", 1, 200)
    assert (names(found := find(folder)), found.left_out) == (["large"], 1)


def test_of_many_small_files_a_bounded_number_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newest, "MOST_FILES", 2)
    for number in range(5):
        put(folder, f"{number}", 1, 1000 - number)
    assert (names(found := find(folder)), found.left_out) == (["3", "4"], 3)


def test_a_file_that_may_still_be_growing_is_better_than_none(folder: Path) -> None:
    put(folder, "new", 1, 0)
    assert names(find(folder)) == ["new"]


def test_no_file_is_an_error(folder: Path) -> None:
    with pytest.raises(Terminal, match="No file in 'in' matches") as raised:
        find(folder)
    assert (raised.value.code, raised.value.node) == ("source.no_files", "src")
