"""The files that wait for a failed file, and those that are too late."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest

from executors.errors import Terminal
from executors.file_order import held_back, line_up, refuse_held_back, warn_of_late
from executors.model import FileScan, NewestFile, SourceFile
from ir.nodes import Source

MOVED = {"atomicity": {"stagingFolder": "doing/", "successFolder": "done/", "failureFolder": "failed/"}}


class Units:
    """The states of earlier files."""

    def __init__(self, failed: Collection[str] = (), newest: NewestFile | None = None) -> None:
        self._failed, self._newest = failed, newest

    def failed(self, node: str) -> Collection[str]:
        return self._failed

    def arrived_whole(self, files: Sequence[SourceFile]) -> Collection[str]:
        return ()

    def newest_loaded(self, node: str, by: str, without: Collection[str]) -> NewestFile | None:
        return self._newest


def source(ordering: str, **more: Any) -> Source:
    config = {"path": "in", "pattern": {"type": "glob", "value": "*"}, "format": {"type": "csv"}, "ordering": ordering}
    return Source(id="src", kind="source", connector="local_fs", config={**config, **more})


def files(*names: str) -> tuple[SourceFile, ...]:
    return tuple(SourceFile(seq, f"/{name}", name, 1, seq) for seq, name in enumerate(names))


def names(found: Collection[SourceFile]) -> list[str]:
    return [file.name for file in found]


def test_what_comes_after_a_failed_file_waits_for_it() -> None:
    queue = line_up(source("fifo_by_name", **MOVED), files("a", "c", "d"), Units({"b", "e"}))
    assert (names(queue.ready), names(queue.waiting), queue.blocker) == (["a"], ["c", "d"], "b")
    assert "c and 1 more were not loaded: b comes first and failed" in held_back(source("fifo_by_name"), queue).message


def test_nobody_waits_once_the_failed_file_is_there_again() -> None:
    queue = line_up(source("fifo_by_name", **MOVED), files("a", "b", "c"), Units({"b"}))
    assert names(queue.ready) == ["a", "b", "c"]


def test_nobody_waits_once_the_archive_of_the_failed_file_is_there_again() -> None:
    queue = line_up(source("fifo_by_name", **MOVED), files("a.csv", "b.zip", "c.csv"), Units({"b.zip/x/1.csv"}))
    assert names(queue.ready) == ["a.csv", "b.zip", "c.csv"]


@pytest.mark.parametrize("node", [source("fifo_by_name"), source("process_all", **MOVED)], ids=["stay", "any"])
def test_nobody_waits_where_files_stay_in_place_or_have_no_order(node: Source) -> None:
    assert names(line_up(node, files("a", "c"), Units({"b"})).ready) == ["a", "c"]


def test_the_refusal_says_what_to_do() -> None:
    queue = line_up(source("fifo_by_name", **MOVED), files("c"), Units({"b"}))
    refusal = refuse_held_back(source("fifo_by_name"), queue)
    assert isinstance(refusal, Terminal)
    assert (refusal.code, refusal.node) == ("source.held_back", "src")
    assert "Put b back" in refusal.hint


@pytest.mark.parametrize(
    ("ordering", "newest", "late"),
    [
        ("fifo_by_name", NewestFile("b", 0), ["a"]),
        ("lexicographic", NewestFile("z", 0), ["a", "c"]),
        ("lexicographic", NewestFile("A", 9), []),
        ("latest_by_mtime", NewestFile("A", 9), ["a", "c"]),
        ("latest_by_mtime", NewestFile("z", 0), []),
        ("process_all", NewestFile("z", 9), []),
        ("fifo_by_name", None, []),
    ],
)
def test_a_file_after_a_newer_one_is_warned_of(ordering: str, newest: NewestFile | None, late: list[str]) -> None:
    scans = [FileScan(file, file.name * 64, 1, (), ()) for file in files("a", "c")]
    warnings = warn_of_late(source(ordering), scans, Units(newest=newest))
    assert [warning.code for warning in warnings] == ["file.late"] * bool(late)
    assert all(f"{late[0]} " in warning.message for warning in warnings)
