"""`flow compile` runs sources in a process of their own and writes plans."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flowapp.cli import main

SOURCE = """\
import os

import flow_transforms as flow
from flow_transforms import functions as F

assert "FLOW_SECRET_KEY" not in os.environ
print("a source may print")


@flow.pipeline("orders")
def orders(df):
    return df.withColumns({"total": F.col("price") * F.col("quantity")}).filter(F.col("state") == "open")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one source, as the current folder."""
    (tmp_path / "transforms").mkdir()
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "transforms/orders.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLOW_SECRET_KEY", "a key")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    status = main([*arguments, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_a_plan_is_written_once_and_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "compile", "--check") == (1, {"outdated": ["pipelines/orders.transforms.json"]})
    assert run(capsys, "compile") == (0, {"written": ["pipelines/orders.transforms.json"], "removed": []})
    assert run(capsys, "compile", "transforms/orders.py") == (0, {"written": [], "removed": []})
    assert run(capsys, "compile", "--check") == (0, {"outdated": []})
    plan = json.loads((folder / "pipelines/orders.transforms.json").read_text())
    assert plan["plan"][0]["ops"] == [
        {"op": "derive", "columns": {"total": "price * quantity"}},
        {"op": "filter", "where": "state = 'open'"},
    ]
    assert not list(folder.rglob("__pycache__"))


def test_a_plan_that_no_source_makes_any_more_is_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "compile")
    (folder / "transforms/orders.py").write_text(SOURCE.replace('"orders"', '"sales"'))
    assert run(capsys, "compile")[1] == {
        "written": ["pipelines/sales.transforms.json"],
        "removed": ["pipelines/orders.transforms.json"],
    }


def test_a_pipeline_has_one_source(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "transforms/second.py").write_text(SOURCE)
    status, document = run(capsys, "compile")
    assert (status, document["diagnostics"][0]["code"]) == (2, "transforms.repeated")
    assert not list((folder / "pipelines").iterdir())


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        ("1 / 0", "transforms.source_failed", "ZeroDivisionError"),
        ("def (", "transforms.source_failed", "not valid Python"),
        ("import orders_helpers", "transforms.source_failed", "ModuleNotFoundError"),
    ],
)
def test_a_source_that_fails_is_reported_at_its_line(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, code: str, says: str
) -> None:
    (folder / "transforms/orders_helpers.py").write_text("")
    (folder / "transforms/orders.py").write_text(f"{SOURCE}\n\n{line}\n")
    status, document = run(capsys, "compile", "transforms/orders.py")
    (found,) = document["diagnostics"]
    assert (status, found["file"], found["line"], found["code"]) == (2, "transforms/orders.py", 15, code)
    assert says in found["message"]


def test_a_source_that_ends_the_process_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "transforms/orders.py").write_text("import sys\nsys.exit(0)\n")
    status, document = run(capsys, "compile")
    assert (status, document["diagnostics"][0]["code"]) == (2, "transforms.source_failed")


@pytest.mark.parametrize("name", ["orders.py", "transforms/orders.rb", "transforms/none.py"])
def test_a_file_that_is_no_source_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    status, document = run(capsys, "compile", name)
    assert (status, document["error"]["code"]) == (1, "file.unreadable")
