from __future__ import annotations

from multiprocessing import forkserver

import pytest


@pytest.fixture(autouse=True, scope="session")
def forks(encryption_keys: str) -> None:
    """Processes for attempts begin with the environment as it is before this one has started a Spark."""
    forkserver.ensure_running()
