"""The same code with Spark in another process: the tests of the pass and of runs, with both kinds of servers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from tests.executors.spark.servers import connect_server, standalone_cluster

HERE = Path(__file__).parent
CONFORMANCE = HERE.parent / "conformance"
SUITE = (
    *(HERE / name for name in ("test_columns.py", "test_first_failing.py", "test_one_pass.py", "test_probe.py")),
    *(CONFORMANCE / f"test_{name}.py" for name in ("every_mode_and_format", "several_targets", "postgres_source")),
    *(
        CONFORMANCE / f"test_{name}.py"
        for name in ("deduplicate", "windows", "joins", "branches", "explodes", "custom")
    ),
)
"""What differs by where Spark runs; the rest of conformance is about the target, which is the same everywhere."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "server"), [("FLOW_SPARK_REMOTE", connect_server), ("FLOW_SPARK_MASTER", standalone_cluster)]
)
def test_the_suite_passes_on(
    tmp_path: Path,
    session_environment: dict[str, str],
    variable: str,
    server: Callable[[Path, str], AbstractContextManager[str]],
) -> None:
    keys = Fernet.generate_key().decode()
    with server(tmp_path, keys) as address:
        environment = {**session_environment, variable: address, "FLOW_TEST_ENCRYPTION_KEYS": keys}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *map(str, SUITE)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=3600,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
