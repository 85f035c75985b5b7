from __future__ import annotations

from multiprocessing import forkserver

import pytest


@pytest.fixture(autouse=True, scope="session")
def forks(encryption_keys: str) -> None:
    """Start the processes of attempts from the environment before this process has started Spark."""
    forkserver.ensure_running()
