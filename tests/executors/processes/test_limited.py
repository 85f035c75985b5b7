"""Programs in processes of their own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from executors.processes.limited import Limits, limited_process


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pipes have one size")
def test_a_program_writes_ahead_of_its_reader(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.stdout.write('x' * 500_000)"]
    with limited_process(command, Limits(60, 1 << 30, 1 << 20), folder=tmp_path, variables={}) as process:
        assert process.wait(50) == 0
        assert len(process.output.read()) == 500_000
