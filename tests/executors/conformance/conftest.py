from __future__ import annotations

from pathlib import Path

import pytest

from executors.model import Connection
from tests.executors.conformance.world import World


@pytest.fixture
def world(tmp_path: Path, warehouse: Connection, schema: str, spark: object) -> World:
    return World(tmp_path, warehouse, schema)
