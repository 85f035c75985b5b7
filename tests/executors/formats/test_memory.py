"""Small files that expand to very much data are read or refused in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.executors.formats.bombs import CASES, MB

ROOT = Path(__file__).parents[3]
MOST_BYTES = 700 * MB


def process(*arguments: str) -> str:
    command = [sys.executable, "-m", "tests.executors.formats.bombs", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def came_of(case: str, path: Path) -> Any:
    process("write", case, str(path))
    return json.loads(process("read", case, str(path)))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_reading_a_file_takes_limited_memory_whatever_it_expands_to(case: str, tmp_path: Path) -> None:
    came, taken = came_of(case, tmp_path / "file")
    assert (came, taken < MOST_BYTES) == (CASES[case][2], True), f"{came}, {taken / MB:,.0f} MB"
