"""What `make` says on a machine where Flow cannot be installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A project folder, whose name holds a space, with what the script reads."""
    folder = tmp_path / "my flow"
    (folder / "tools").mkdir(parents=True)
    for name in ("tools/bootstrap.sh", "pyproject.toml", "requirements.lock"):
        shutil.copy(PROJECT / name, folder / name)
    return folder


def bootstrap(clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [clone / "tools/bootstrap.sh", "demo"]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)


def program(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_an_old_python_is_named(clone: Path, tmp_path: Path) -> None:
    done = bootstrap(clone, PYTHON=program(tmp_path / "old", 'case "$1" in -V) echo Python 3.9.1;; *) exit 1;; esac'))
    assert done.returncode == 1
    assert "Flow needs Python 3.11 or newer" in done.stderr
    assert "Python 3.9.1" in done.stderr


def test_a_python_without_venv_is_named(clone: Path, tmp_path: Path) -> None:
    body = f'case "$2" in *ensurepip*) exit 1;; esac\nexec {sys.executable} "$@"'
    done = bootstrap(clone, PYTHON=program(tmp_path / "half", body))
    assert done.returncode == 1
    assert "has no venv module" in done.stderr
    assert f"apt-get install python3.{sys.version_info.minor}-venv" in done.stderr


def test_a_full_disk_is_named(clone: Path, tmp_path: Path) -> None:
    program(tmp_path / "df", "echo Filesystem; echo /dev/vda 100 90 10240 99% /")
    done = bootstrap(clone, PYTHON=sys.executable, PATH=f"{tmp_path}:{os.environ['PATH']}")
    assert done.returncode == 1
    assert "Only 10 MB are free" in done.stderr


@pytest.mark.slow
def test_a_registry_out_of_reach_is_named(clone: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0", "PIP_CONFIG_FILE": os.devnull}
    done = bootstrap(clone, PYTHON=sys.executable, PIP_FIND_LINKS="", **nowhere)
    assert done.returncode == 1
    assert "pip cannot reach its package registry" in done.stderr
    assert not list((clone / ".venv").glob("flow-demo*"))
