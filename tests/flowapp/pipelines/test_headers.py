"""The columns of files that wait, as the editor suggests them."""

from __future__ import annotations

import os

import pytest

from executors.sources import peek
from flowapp.pipelines.headers import newest_header
from tests.flowapp.files.test_pages import root

pytestmark = pytest.mark.django_db
__all__ = ["root"]


def source(value: str = "*.csv", path: str = "in", **settings) -> dict[str, object]:
    config = {"path": path, "pattern": {"type": "glob", "value": value}, "format": {"type": "csv", **settings}}
    return {"id": "files", "kind": "source", "connector": "local_fs", "config": config}


@pytest.fixture
def put(root):
    """Writes a file into the folder `in`, a number of seconds ago."""

    def call(name: str, text: str, age: int = 0) -> None:
        path = root / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))

    return call


def test_the_newest_matching_file_names_the_columns(workspace, put):
    put("new.csv", "id,name\n1,Ann\n")
    put("old.csv", "other\n1\n", age=60)
    put("newer.txt", "nothing\n", age=-60)

    assert newest_header(workspace, source()) == ["id", "name"]
    assert newest_header(workspace, source(delimiter=";")) == ["id,name"]


@pytest.mark.parametrize(
    "node",
    [
        {},
        {"connector": "nope"},
        {"connector": "local_fs"},
        {"connector": "local_fs", "config": 1},
        {"connector": "postgres", "config": {"table": {"schema": "public", "name": "t"}}},
        source(path="nowhere"),
        source(path="../bobs-team"),
        source("*.parquet"),
        source(encoding="nope"),
    ],
)
def test_where_it_cannot_be_reported_nothing_is_suggested(workspace, root, put, node):
    put("a.csv", "id\n1\n")
    (root.parent / "bobs-team").mkdir()
    (root.parent / "bobs-team" / "a.csv").write_text("secret\n")

    assert newest_header(workspace, node) == []


def test_a_link_is_not_followed(workspace, root, put, tmp_path_factory):
    put("b.txt", "id\n")
    outside = tmp_path_factory.mktemp("outside") / "a.csv"
    outside.write_text("secret\n")
    (root / "in/a.csv").symlink_to(outside)

    assert newest_header(workspace, source()) == []


def test_no_page_waits_for_a_folder_of_many_files(workspace, put, monkeypatch):
    monkeypatch.setattr(peek, "MOST_FILES", 1)
    put("a.csv", "id\n")
    put("b.csv", "id\n")

    assert newest_header(workspace, source()) == []
