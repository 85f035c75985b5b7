"""Moves files if the file system has no hard links, or if the folder is on another file system."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from executors.errors import Terminal
from executors.sources.moving import move_if_free, move_to_first_free, with_suffix


@pytest.fixture
def link_fails(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def fail_with(code: int) -> None:
        def link(*args: Any, **options: Any) -> NoReturn:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "link", link)

    return fail_with


def test_without_links_nothing_is_replaced_either(tmp_path: Path, link_fails: Callable[[int], None]) -> None:
    link_fails(errno.EPERM)
    for content in ("one", "two"):
        (tmp_path / "a.csv").write_text(content)
        move_to_first_free(tmp_path / "a.csv", with_suffix(tmp_path / "done", "a.csv"))
    assert {path.name: path.read_text() for path in (tmp_path / "done").iterdir()} == {"a.csv": "one", "a_2.csv": "two"}
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("code", "expected"), [(errno.EXDEV, "source.folder_elsewhere"), (errno.EACCES, "source.not_movable")]
)
def test_what_cannot_be_moved_says_why(
    tmp_path: Path, link_fails: Callable[[int], None], code: int, expected: str
) -> None:
    link_fails(code)
    (tmp_path / "a.csv").write_text("x")
    with pytest.raises(Terminal) as refused:
        move_to_first_free(tmp_path / "a.csv", with_suffix(tmp_path / "done", "a.csv"))
    assert refused.value.code == expected
    assert (tmp_path / "a.csv").exists()


def test_a_move_that_a_crash_interrupted_is_completed_under_the_same_name(tmp_path: Path) -> None:
    file, done = tmp_path / "a.csv", tmp_path / "done"
    done.mkdir()
    file.write_text("one")
    os.link(file, done / "a.csv")
    assert move_to_first_free(file, with_suffix(done, "a.csv")) == done / "a.csv"
    assert [path.name for path in tmp_path.rglob("*.csv")] == ["a.csv"]
    assert (done / "a.csv").read_text() == "one"


def test_a_file_that_is_there_already_is_not_removed(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("one")
    assert not move_if_free(file, tmp_path / "a.csv")
    assert file.read_text() == "one"
