"""`local_fs`: the files that are listed, their order, and the paths of claimed files."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Terminal, Transient
from executors.model import SourceFile
from executors.sources import load_file_source
from executors.sources.base import ArrivedWhole, Claimant, Listing, SourceContext
from executors.sources.local_fs import LocalFs
from ir.nodes import Source

NOW = time.time() + 86_400
"""A day ahead: a time stamp that the kernel sets is never young then, however long the tests before have taken."""
TODAY = datetime.fromtimestamp(NOW, UTC)

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


CLAIMANT = Claimant("orders", frozenset(["src"]))


def none_whole(files: Sequence[SourceFile]) -> Collection[str]:
    return ()


def files_of(workspace: Path, node: Source, token: int | None = 1, pipeline: str = "orders") -> LocalFs:
    return LocalFs(node, SourceContext(workspace, Claimant(pipeline, frozenset(["src", "other"]), "run", token)))


def listed(workspace: Path, node: Source, arrived_whole: ArrivedWhole = none_whole) -> Listing:
    return files_of(workspace, node).list_files(NOW, arrived_whole)


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
    assert files[0].mtime_ns == pytest.approx((NOW - 100) * 1e9)
    status = (workspace / "in" / "a.csv").stat()
    assert (files[0].inode, files[0].ctime_ns) == (status.st_ino, status.st_ctime_ns)


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
        ("date_template", "d_{YYYYMMDD}.txt", [f"d_{TODAY:%Y%m%d}.txt"]),
    ],
)
def test_patterns_match_whole_names(workspace: Path, kind: str, value: str, expected: list[str]) -> None:
    for name in ("_h.csv", "a1.csv", "a[1].csv", "äö.csv", ".hidden.csv", f"d_{TODAY:%Y%m%d}.txt", "d_20231115.txt"):
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
    assert names(listing) == ["old.csv"]
    assert [file.name for file in listing.unsettled] == ["in/ahead.csv", "in/young.csv"]


@pytest.mark.parametrize("age", [-60, 3600])
def test_a_file_that_grows_is_unsettled_whatever_its_time_says(workspace: Path, age: float) -> None:
    path = put(workspace / "in", "a.csv", "half", age=0)
    os.utime(path, (time.time() - age, time.time() - age))
    handler = files_of(workspace, source())
    first = handler.list_files(time.time(), none_whole)
    assert (names(first), len(first.unsettled)) == ([], 1)
    status = path.stat()
    path.write_text("whole")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    second = handler.list_files(time.time(), none_whole, first.unsettled)
    assert (names(second), len(second.unsettled)) == ([], 1)
    assert names(handler.list_files(time.time(), none_whole, second.unsettled)) == ["a.csv"]


def test_a_file_of_the_same_size_and_time_in_the_place_of_another_is_unsettled(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv", "one", age=-60)
    handler = files_of(workspace, source())
    first = handler.list_files(NOW, none_whole)
    put(workspace, "b.csv", "two", age=-60).rename(path)
    assert names(handler.list_files(NOW, none_whole, first.unsettled)) == []


def test_young_files_that_came_in_one_piece_are_settled(workspace: Path) -> None:
    sent = put(workspace / "in", "sent.csv", age=1)
    for age, name in ((1, "young.csv"), (60, "old.csv")):
        put(workspace / "in", name, age=age)
    asked: list[str] = []

    def arrived_whole(files: Sequence[SourceFile]) -> Collection[str]:
        asked.extend(file.name for file in files)
        return {str(sent)}

    listing = listed(workspace, source(), arrived_whole)
    assert (names(listing), [file.name for file in listing.unsettled]) == (["old.csv", "sent.csv"], ["in/young.csv"])
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
    assert refusal(lambda: files_of(workspace, source(path=path))) == "source.path_outside"


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
    assert names(files_of(alias, source()).list_files(NOW, none_whole)) == ["a.csv"]


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


def claimed(workspace: Path, token: int = 1, **who: Any) -> tuple[LocalFs, Any]:
    handler = files_of(workspace, source(atomicity=FOLDERS), token, **who)
    return handler, [handler.claim(file) for file in handler.list_files(NOW, none_whole).files]


def test_without_atomicity_files_stay_where_they_are(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    handler = files_of(workspace, source())
    file = handler.list_files(NOW, none_whole).files[0]
    assert handler.claim(file) == file
    handler.archive(file, succeeded=True)
    assert path.exists()


def test_a_claimed_file_is_in_the_staging_folder_under_its_own_name(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    _, files = claimed(workspace)
    assert files[0].path == str(workspace / "in" / ".processing" / "orders.src.1.run" / "a.csv")
    assert (files[0].name, files[0].size, files[0].seq) == ("in/a.csv", 1, 0)
    assert not path.exists()


@pytest.mark.parametrize(("succeeded", "folder"), [(True, r"\.archive/\d{4}-\d\d-\d\d"), (False, r"\.failed")])
def test_a_finished_file_is_put_away(workspace: Path, succeeded: bool, folder: str) -> None:
    put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    handler.archive(files[0], succeeded)
    found = [path.relative_to(workspace / "in") for path in (workspace / "in").rglob("a.csv")]
    assert len(found) == 1
    assert re.fullmatch(folder, str(found[0].parent))


def test_a_file_put_away_never_replaces_another(workspace: Path) -> None:
    for content in ("one", "two", "three"):
        put(workspace / "in", "a.b.csv", content)
        handler, files = claimed(workspace)
        handler.archive(files[0], succeeded=False)
    put_away = {path.name: path.read_text() for path in (workspace / "in" / ".failed").iterdir()}
    assert put_away == {"a.b.csv": "one", "a.b_2.csv": "two", "a.b_3.csv": "three"}


@pytest.mark.parametrize("day", ["2020-02-29", "2020-03-01/2"])
def test_an_archive_that_a_crash_interrupted_is_finished_in_the_folder_of_its_day(workspace: Path, day: str) -> None:
    put(workspace / "in", "a.csv", "one")
    handler, files = claimed(workspace)
    archived = put(workspace / "in" / ".archive" / day, "other.csv").with_name("a.csv")
    os.link(files[0].path, archived)
    handler.archive(files[0], succeeded=True)
    assert list((workspace / "in").rglob("a.csv")) == [archived]
    assert archived.read_text() == "one"


def test_a_file_with_another_name_elsewhere_is_archived(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv", "one")
    os.link(path, workspace / "a.csv")
    handler, files = claimed(workspace)
    handler.archive(files[0], succeeded=True)
    (archived,) = (workspace / "in" / ".archive").rglob("a.csv")
    assert archived.read_text() == (workspace / "a.csv").read_text() == "one"


def test_a_released_file_is_where_it_was(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    handler.requeue(files[0])
    assert path.exists()
    assert list((workspace / "in" / ".processing").iterdir()) == []


def test_a_released_file_stays_claimed_beside_a_newer_one_of_its_name(workspace: Path) -> None:
    put(workspace / "in", "a.csv", "old")
    handler, files = claimed(workspace)
    put(workspace / "in", "a.csv", "newer")
    handler.requeue(files[0])
    assert (workspace / "in" / "a.csv").read_text() == "newer"
    assert Path(files[0].path).read_text() == "old"


def test_what_a_dead_attempt_claimed_is_listed_again(workspace: Path) -> None:
    put(workspace / "in", "b.csv")
    claimed(workspace)
    put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    assert [(file.seq, file.name) for file in files] == [(0, "in/a.csv"), (1, "in/b.csv")]
    handler.archive(files[1], succeeded=True)
    assert names(handler.list_files(NOW, none_whole)) == ["a.csv"]


def test_a_new_file_under_the_name_of_a_claimed_one_is_another_file(workspace: Path) -> None:
    put(workspace / "in", "a.csv", "old")
    claimed(workspace)
    put(workspace / "in", "a.csv", "newer")
    handler, files = claimed(workspace)
    assert sorted(Path(file.path).read_text() for file in files) == ["newer", "old"]
    assert {file.name for file in files} == {"in/a.csv"}
    for file in files:
        handler.archive(file, succeeded=True)
    assert list((workspace / "in" / ".processing").rglob("*")) == []


def test_files_put_away_are_not_matched_again(workspace: Path) -> None:
    put(workspace / "in", "a.csv")
    handler, files = claimed(workspace)
    handler.archive(files[0], succeeded=True)
    assert handler.list_files(NOW, none_whole).files == ()


def test_a_file_that_vanished_before_the_claim_can_be_tried_again(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    handler = files_of(workspace, source(atomicity=FOLDERS))
    file = handler.list_files(NOW, none_whole).files[0]
    path.unlink()
    assert handler.claim(file) is None


def test_a_file_that_changed_before_the_claim_can_be_tried_again(workspace: Path) -> None:
    path = put(workspace / "in", "a.csv")
    handler = files_of(workspace, source(atomicity=FOLDERS))
    file = handler.list_files(NOW, none_whole).files[0]
    put(workspace, "b.csv").rename(path)
    with pytest.raises(Transient) as failure:
        handler.claim(file)
    assert failure.value.code == "source.changed"


def test_one_of_many_concurrent_claims_of_a_file_succeeds(workspace: Path) -> None:
    for number in range(50):
        put(workspace / "in", f"{number}.csv")
    node = source(atomicity=FOLDERS)
    handlers = [files_of(workspace, node, token=n, pipeline=f"p{n}") for n in range(8)]
    files = handlers[0].list_files(NOW, none_whole).files
    with ThreadPoolExecutor(len(handlers)) as pool:
        claims = pool.map(lambda handler: [handler.claim(file) for file in files], handlers)
        taken = [file for claimed in claims for file in claimed if file]
    assert sorted(file.name for file in taken) == sorted(file.name for file in files)
    assert len(list((workspace / "in" / ".processing").rglob("*.csv"))) == len(files)


@pytest.mark.parametrize("other", [{"pipeline": "other"}, {"token": 3}])
def test_what_others_or_newer_attempts_have_claimed_is_left_alone(workspace: Path, other: Any) -> None:
    put(workspace / "in", "a.csv")
    claimed(workspace, **{"token": 2, **other})
    handler, files = claimed(workspace, token=2)
    assert (files, handler.list_claimed(NOW)) == ([], ())
    assert handler.list_files(NOW, none_whole).claimed_by == (("other",) if "pipeline" in other else ())


def test_another_source_of_the_pipeline_leaves_claims_alone_unless_their_source_is_gone(workspace: Path) -> None:
    put(workspace / "in", "a.csv")
    claimed(workspace)
    node = source(atomicity=FOLDERS)
    other = node.model_copy(update={"id": "other"})
    assert names(files_of(workspace, other, token=2).list_files(NOW, none_whole)) == []
    renamed = LocalFs(other, SourceContext(workspace, Claimant("orders", frozenset(["other"]), "run", 2)))
    assert names(renamed.list_files(NOW, none_whole)) == ["a.csv"]


def test_an_attempt_that_woke_up_late_finds_its_claims_gone(workspace: Path) -> None:
    put(workspace / "in", "a.csv")
    late, files = claimed(workspace, token=1)
    newer, (taken_over,) = claimed(workspace, token=2)
    with pytest.raises(Transient):
        late.archive(files[0], succeeded=False)
    newer.archive(taken_over, succeeded=True)


def test_links_that_lead_to_one_another_are_no_files(workspace: Path) -> None:
    for name, other in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        (workspace / "in" / name).symlink_to(other)
    assert listed(workspace, source()).files == ()


# --- the table -----------------------------------------------------------------------------------------------


def test_the_connector_of_a_source_is_loaded(workspace: Path) -> None:
    assert isinstance(load_file_source(source(), SourceContext(workspace, CLAIMANT)), LocalFs)


def test_an_unknown_connector_is_named(workspace: Path) -> None:
    node = Source(id="src", kind="source", connector="floppy", config={})
    assert refusal(lambda: load_file_source(node, SourceContext(workspace, CLAIMANT))) == "kind.not_available"
