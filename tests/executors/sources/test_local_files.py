"""`local_fs`: what is listed, in which order, and where claimed files go."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Terminal, Transient
from executors.model import SourceFile
from executors.sources import SOURCES, ArrivedWhole, Listing, load_source
from executors.sources.local_fs import LocalFs
from ir.nodes import Source

NOW = 1_700_000_000.0
FOLDERS = {"stagingFolder": ".processing/", "successFolder": ".archive/{YYYY-MM-DD}/", "failureFolder": ".failed/"}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "ws" / "in").mkdir(parents=True)
    return tmp_path / "ws"


def put(folder: Path, name: str, content: str = "x", age: float = 100) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (NOW - age, NOW - age))
    return path


def source(value: str = "*.csv", kind: str = "glob", path: str = "in", **config: Any) -> Source:
    pattern = {"type": kind, "value": value}
    settings = {"path": path, "pattern": pattern, "format": {"type": "csv"}, **config}
    return Source(id="src", kind="source", connector="local_fs", config=settings)


def none_whole(files: Sequence[SourceFile]) -> Collection[str]:
    return ()


def listed(workspace: Path, node: Source, arrived_whole: ArrivedWhole = none_whole) -> Listing:
    return LocalFs(node, workspace).list_files(NOW, arrived_whole)


def names(listing: Listing) -> list[str]:
    return [Path(file.name).name for file in listing.files]


def refusal(call: Any) -> str:
    with pytest.raises(Terminal) as refused:
        call()
    assert refused.value.node == "src"
    return refused.value.code


# --- listing -------------------------------------------------------------------------------------------------


def test_files_come_by_name_with_what_identifies_them(workspace: Path) -> None:
    for name in ("b.csv", "a.csv", "c.txt"):
        put(workspace / "in", name, "content")
    files = listed(workspace, source()).files
    assert [(file.seq, file.name, file.size) for file in files] == [(0, "in/a.csv", 7), (1, "in/b.csv", 7)]
    assert files[0].path == str(workspace / "in" / "a.csv")
    assert files[0].mtime_ns == int((NOW - 100) * 1e9)


@pytest.mark.parametrize("ordering", ["fifo_by_name", "lexicographic", "process_all"])
def test_orders_by_name(workspace: Path, ordering: str) -> None:
    for age, name in ((5, "b.csv"), (50, "a.csv"), (500, "B.csv")):
        put(workspace / "in", name, age=age)
    assert names(listed(workspace, source(ordering=ordering))) == ["B.csv", "a.csv", "b.csv"]


def test_latest_by_mtime_takes_the_newest_alone(workspace: Path) -> None:
    for age, name in ((50, "a.csv"), (10, "b.csv"), (500, "c.csv")):
        put(workspace / "in", name, age=age)
    assert names(listed(workspace, source(ordering="latest_by_mtime"))) == ["b.csv"]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("glob", "_*.csv", ["_h.csv"]),
        ("glob", "*.csv", ["_h.csv", "a1.csv", "a[1].csv", "äö.csv"]),
        ("glob", "a[[]1].csv", ["a[1].csv"]),
        ("glob", "a[0-9].csv", ["a1.csv"]),
        ("glob", ".h*.csv", [".hidden.csv"]),
        ("regex", r"a\d\.csv", ["a1.csv"]),
        ("regex", r"a", []),
        ("date_template", "d_{YYYYMMDD}.txt", ["d_20231114.txt"]),
    ],
)
def test_patterns_match_whole_names(workspace: Path, kind: str, value: str, expected: list[str]) -> None:
    for name in ("_h.csv", "a1.csv", "a[1].csv", "äö.csv", ".hidden.csv", "d_20231114.txt", "d_20231115.txt"):
        put(workspace / "in", name)
    assert names(listed(workspace, source(value, kind))) == expected


def test_folders_below_are_not_searched_and_only_files_are_taken(workspace: Path) -> None:
    put(workspace / "in" / "sub", "a.csv")
    (workspace / "in" / "dir.csv").mkdir()
    os.mkfifo(workspace / "in" / "pipe.csv")
    assert listed(workspace, source()).files == ()


def test_young_files_are_listed_as_unsettled(workspace: Path) -> None:
    for age, name in ((4.9, "young.csv"), (5.1, "old.csv"), (-60, "ahead.csv")):
        put(workspace / "in", name, age=age)
    listing = listed(workspace, source())
    assert names(listing) == ["ahead.csv", "old.csv"]
    assert listing.unsettled == ("in/young.csv",)


def test_young_files_that_came_in_one_piece_are_settled(workspace: Path) -> None:
    sent = put(workspace / "in", "sent.csv", age=1)
    for age, name in ((1, "young.csv"), (60, "old.csv")):
        put(workspace / "in", name, age=age)
    asked: list[str] = []

    def arrived_whole(files: Sequence[SourceFile]) -> Collection[str]:
        asked.extend(file.name for file in files)
        return {str(sent)}

    listing = listed(workspace, source(), arrived_whole)
    assert (names(listing), listing.unsettled) == (["old.csv", "sent.csv"], ("in/young.csv",))
    assert asked == ["in/sent.csv", "in/young.csv"]


def test_settle_seconds_of_zero_waits_for_nothing(workspace: Path) -> None:
    put(workspace / "in", "new.csv", age=0)
    assert names(listed(workspace, source(waitPolicy={"settleSeconds": 0}))) == ["new.csv"]


def test_an_empty_folder_has_no_files(workspace: Path) -> None:
    assert listed(workspace, source()) == Listing((), ())


def test_a_missing_folder_is_no_empty_source(workspace: Path) -> None:
    assert refusal(lambda: listed(workspace, source(path="nope"))) == "source.path_missing"


def test_a_name_that_is_not_utf8_is_shown_escaped_and_can_be_opened(workspace: Path) -> None:
    path = os.fsencode(workspace / "in") + b"/\xff.csv"
    with open(path, "w"):
        os.utime(path, (1, 1))
    file = listed(workspace, source()).files[0]
    assert file.name == "in/\\xff.csv"
    assert os.fsencode(file.path) == path


# --- staying inside ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["..", "../other", "in/../../other", "link"])
def test_a_path_that_leads_out_is_refused(workspace: Path, path: str) -> None:
    put(workspace.parent / "other", "a.csv")
    (workspace / "link").symlink_to(workspace.parent / "other")
    assert refusal(lambda: LocalFs(source(path=path), workspace)) == "source.path_outside"


def test_a_link_to_a_file_outside_is_refused(workspace: Path) -> None:
    (workspace / "in" / "a.csv").symlink_to(put(workspace.parent, "secret.csv"))
    assert refusal(lambda: listed(workspace, source())) == "source.path_outside"


def test_a_link_to_a_file_inside_is_read_where_it_points(workspace: Path) -> None:
    (workspace / "in" / "a.csv").symlink_to(put(workspace, "elsewhere.csv"))
    file = listed(workspace, source()).files[0]
    assert (file.name, file.path) == ("in/a.csv", str(workspace / "elsewhere.csv"))


def test_a_workspace_behind_a_link_is_fine(workspace: Path) -> None:
    put(workspace / "in", "a.csv")
    alias = workspace.parent / "alias"
    alias.symlink_to(workspace)
    assert names(LocalFs(source(), alias).list_files(NOW, none_whole)) == ["a.csv"]


@pytest.mark.parametrize("folder", [".processing", ".archive", ".failed"])
def test_a_folder_that_leads_out_is_refused_before_anything_moves(workspace: Path, folder: str) -> None:
    put(workspace / "in", "a.csv")
    (workspace.parent / "out").mkdir()
    (workspace / "in" / folder).symlink_to(workspace.parent / "out")
    assert refusal(lambda: claimed(workspace)) == "source.path_outside"
    assert (workspace / "in" / "a.csv").exists()


def test_links_are_not_claimed(workspace: Path) -> None:
    (workspace / "in" / "a.csv").symlink_to(put(workspace, "elsewhere.csv"))
    assert refusal(lambda: listed(workspace, source(atomicity=FOLDERS))) == "source.link_not_movable"


# --- claiming and putting away -------------------------------------------------------------------------------


def claimed(workspace: Path) -> tuple[LocalFs, Any]:
    handler = LocalFs(source(atomicity=FOLDERS), workspace)
    return handler, [handler.claim(file) for file in handler.list_files(NOW, none_whole).files]


def test_without_atomicity_files_stay_where_they_are(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    handler = LocalFs(source(), workspace)
    file = handler.list_files(NOW, none_whole).files[0]
    assert handler.claim(file) == file
    handler.finish(file, succeeded=True)
    assert path.exists()


def test_a_claimed_file_is_in_the_staging_folder_under_its_own_name(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    _, files = claimed(workspace)
    assert files[0].path == str(workspace / "in" / ".processing" / "a.csv")
    assert (files[0].name, files[0].size, files[0].seq) == ("in/a.csv", 1, 0)
    assert not path.exists()


@pytest.mark.parametrize(("succeeded", "folder"), [(True, r"\.archive/\d{4}-\d\d-\d\d"), (False, r"\.failed")])
def test_a_finished_file_is_put_away(workspace: Path, succeeded: bool, folder: str) -> None:
    put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    handler.finish(files[0], succeeded)
    found = [path.relative_to(workspace / "in") for path in (workspace / "in").rglob("a.csv")]
    assert len(found) == 1
    assert re.fullmatch(folder, str(found[0].parent))


def test_a_file_put_away_never_replaces_another(workspace: Path) -> None:
    for content in ("one", "two", "three"):
        put(workspace / "in", "a.b.csv", content)
        handler, files = claimed(workspace)
        handler.finish(files[0], succeeded=False)
    put_away = {path.name: path.read_text() for path in (workspace / "in" / ".failed").iterdir()}
    assert put_away == {"a.b.csv": "one", "a.b_2.csv": "two", "a.b_3.csv": "three"}


def test_what_a_dead_attempt_claimed_is_listed_again(workspace: Path) -> None:
    put(workspace / "in", "b.csv")
    claimed(workspace)
    put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    assert [(file.seq, file.name) for file in files] == [(0, "in/a.csv"), (1, "in/b.csv")]
    handler.finish(files[1], succeeded=True)
    assert names(handler.list_files(NOW, none_whole)) == ["a.csv"]


def test_a_new_file_under_the_name_of_a_claimed_one_is_another_file(workspace: Path) -> None:
    put(workspace / "in", "a.csv", "old")
    claimed(workspace)
    put(workspace / "in", "a.csv", "newer")
    handler, files = claimed(workspace)
    assert sorted(Path(file.path).read_text() for file in files) == ["newer", "old"]
    assert {file.name for file in files} == {"in/a.csv"}
    for file in files:
        handler.finish(file, succeeded=True)
    assert list((workspace / "in" / ".processing").rglob("*")) == []


def test_files_put_away_are_not_matched_again(workspace: Path) -> None:
    put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    handler.finish(files[0], succeeded=True)
    assert handler.list_files(NOW, none_whole).files == ()


def test_a_file_that_vanished_before_the_claim_can_be_tried_again(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    handler = LocalFs(source(atomicity=FOLDERS), workspace)
    file = handler.list_files(NOW, none_whole).files[0]
    path.unlink()
    with pytest.raises(Transient) as failure:
        handler.claim(file)
    assert failure.value.code == "source.changed"


# --- the table -----------------------------------------------------------------------------------------------


def test_every_listed_connector_loads(workspace: Path) -> None:
    assert isinstance(load_source(source(), workspace), LocalFs)
    assert list(SOURCES) == ["local_fs"]


def test_a_connector_that_cannot_run_yet_is_named(workspace: Path) -> None:
    node = Source(id="src", kind="source", connector="s3", config={})
    assert refusal(lambda: load_source(node, workspace)) == "kind.not_available"
