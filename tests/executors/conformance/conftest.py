from __future__ import annotations

from pathlib import Path

import pytest

from executors.model import Connection
from tests.executors.conformance.world import World


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, spark: object) -> World:
    return World(tmp_path, warehouse, schema)


@pytest.fixture(params=["in_jobs", pytest.param("here", marks=pytest.mark.slow)], autouse=True)
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where small files are worked on: the suite's are too small for jobs, and yet must pass there too."""
    from executors.spark import jobs

    monkeypatch.setattr(jobs, "FEW_BYTES", {"in_jobs": -1, "here": jobs.FEW_BYTES}[request.param])
