"""`flow plan`, `flow apply` and `flow export`: their output and their exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowapp.manifests.folders import write_folder
from tests.flowapp.manifests.conftest import PASSWORD, ProjectFiles

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(project: ProjectFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings) -> Path:
    write_folder(tmp_path, project.files)
    settings.FLOW_WORKSPACE = project.workspace.slug
    monkeypatch.setenv(PASSWORD, project.environment[PASSWORD])
    return tmp_path


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    from flowapp.cli import main

    status = main(arguments)
    out = capsys.readouterr()
    return status, out.out, out.err


def test_plan_then_apply_then_plan(folder: Path, capsys) -> None:
    status, out, _ = run(capsys, "plan", str(folder))
    assert status == 2
    assert "+ pipeline numbers (new)" in out
    assert run(capsys, "apply", "--dir", str(folder))[0] == 0
    assert run(capsys, "plan", str(folder))[0] == 0
    assert "Nothing to apply" in run(capsys, "apply", "--dir", str(folder))[1]


def test_an_invalid_project_names_files_and_lines(folder: Path, capsys) -> None:
    (folder / "pipelines" / "bad.json").write_text("{")
    status, _, err = run(capsys, "plan", str(folder))
    assert status == 1
    assert "pipelines/bad.json:1:2: error:" in err
    assert run(capsys, "apply", "--dir", str(folder))[0] == 2


def test_what_needs_a_word_ends_in_refused(folder: Path, capsys) -> None:
    run(capsys, "apply", "--dir", str(folder))
    (folder / "pipelines" / "numbers.json").unlink()
    status, out, _ = run(capsys, "apply", "--dir", str(folder))
    assert status == 3
    assert "--yes" in out
    assert run(capsys, "apply", "--yes", "--dir", str(folder))[0] == 0


def test_export_writes_the_files(folder: Path, capsys, tmp_path_factory: pytest.TempPathFactory) -> None:
    run(capsys, "apply", "--dir", str(folder))
    empty = tmp_path_factory.mktemp("exported")
    status, out, _ = run(capsys, "export", str(empty))
    assert status == 0
    assert "Written: flow.toml" in out
    assert run(capsys, "plan", str(empty))[0] == 0


def test_a_folder_without_a_project_is_refused(capsys, folder: Path) -> None:
    assert run(capsys, "plan", str(folder / "pipelines"))[0] == 1
