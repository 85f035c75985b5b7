"""Detecting the settings of a file in the workspace's folder, by the API."""

from __future__ import annotations

import os

import pytest

from executors.api import LOOKED_AT_BYTES
from tests.flowapp.files.test_pages import root

pytestmark = pytest.mark.django_db
HERE = {"X-Flow-Workspace": "alices-team"}
__all__ = ["root"]


@pytest.fixture
def ask(as_, root):
    def post(path, role="editor", **body):
        kind = {"content_type": "application/json", "headers": HERE}
        return as_(role).post("/api/files/detect/", {"path": path, **body}, **kind)

    (root / "in").mkdir(parents=True)
    return post


def test_an_editor_learns_settings_columns_and_rows(ask, root):
    (root / "in/a.csv").write_bytes("Kunde;Betrag\nMüller;1.234,50\nWeiß;7,25\n".encode("cp1252"))
    answer = ask("in/a.csv")

    found = answer.json()
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
    assert found["format"] == {
        "type": "csv",
        "delimiter": ";",
        "quote": '"',
        "encoding": "cp1252",
        "header": True,
    }
    assert found["columns"][1] | {"samples": None} == {
        "name": "Betrag",
        "targetName": "betrag",
        "type": "decimal(18,2)",
        "formats": [],
        "decimalSeparator": ",",
        "groupSeparator": ".",
        "nullRate": 0.0,
        "distinct": 2,
        "min": "7.25",
        "max": "1234.50",
        "samples": None,
        "note": None,
    }
    assert (found["rows"][0], found["rowsRead"], found["isWhole"]) == (["Müller", "1.234,50"], 2, True)
    assert [problem["code"] for problem in found["problems"]] == ["encoding.guessed"]


def test_given_settings_are_not_detected(ask, root):
    (root / "in/a.csv").write_bytes(b"id\tname\n1\tx\n")
    found = ask("in/a.csv", format={"delimiter": "\t", "header": False, "nullValues": ["x"]}).json()

    assert found["format"]["header"] is False
    assert found["rows"] == [["id", "name"], ["1", None]]


def test_no_more_than_a_megabyte_is_read(ask, root):
    (root / "in/a.csv").write_bytes(b"id,name\n" + b"1,x\n" * (LOOKED_AT_BYTES // 4))
    found = ask("in/a.csv").json()
    assert (found["isWhole"], found["rowsRead"]) == (False, LOOKED_AT_BYTES // 4 - 3)


def test_a_viewer_does_not_see_rows(ask, root):
    (root / "in/a.csv").write_bytes(b"id\n1\n")
    assert ask("in/a.csv", role="viewer").status_code == 403


@pytest.mark.parametrize("path", ["in/gone.csv", "in", "../x.csv", "in/.hidden", "in/link", "in/pipe", "in/a\0b", "/"])
def test_what_is_no_file_of_the_workspace_is_unknown(ask, root, tmp_path, path):
    (tmp_path / "x.csv").write_bytes(b"secret\n1\n")
    (root / "in/link").symlink_to(tmp_path / "x.csv")
    (root / "in/.hidden").write_bytes(b"id\n1\n")
    os.mkfifo(root / "in/pipe")

    answer = ask(path)
    assert answer.status_code in (400, 404)
    assert "secret" not in answer.content.decode()


def test_what_cannot_be_read_is_refused_with_what_to_do(ask, root):
    (root / "in/a.xlsx").write_bytes(b"PK\x03\x04" + b"\0" * 40)
    answer = ask("in/a.xlsx")
    assert (answer.status_code, answer.json()["code"]) == (422, "detection.unreadable")
