"""Small files that stand for very much data are read, or refused, in bounded memory."""

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
def test_a_file_takes_bounded_memory_whatever_it_stands_for(case: str, tmp_path: Path) -> None:
    came, taken = came_of(case, tmp_path / "file")
    assert (came, taken < MOST_BYTES) == (CASES[case][2], True), f"{came}, {taken / MB:,.0f} MB"


def test_a_few_bytes_that_are_gigabytes_when_decoded_take_bounded_memory(tmp_path: Path) -> None:
    came, taken = came_of("parquet, dictionary", tmp_path / "file")
    assert (came, taken < MOST_BYTES) == ("65536 rows", True), f"{came}, {taken / MB:,.0f} MB"
