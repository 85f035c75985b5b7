from __future__ import annotations

from pathlib import Path

import pytest

from executors.model import Connection
from ir.connectors import CONNECTORS
from tests.connectors.storages import STORAGES, Storage
from tests.destinations.jsonl.world import folder_of, register
from tests.executors.conformance.destinations import WORLDS
from tests.executors.conformance.world import World


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run marked tests with every connector of files. All but `local_fs` are in the slow tier."""
    if metafunc.definition.get_closest_marker("every_connector"):
        local, *others = STORAGES
        slow = [pytest.param(name, marks=pytest.mark.slow) for name in others]
        metafunc.parametrize("storage", [local, *slow], indirect=True)


@pytest.fixture
def storage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """The storage of the world's files."""
    storage = STORAGES[getattr(request, "param", "local_fs")](tmp_path, monkeypatch)
    config = CONNECTORS[storage.connector].config
    if request.node.get_closest_marker("moves_files") and not (config and "atomicity" in config.model_fields):
        pytest.skip(f"{storage.connector} moves no files")
    return storage


@pytest.fixture
def destination(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The connector of the world's targets."""
    name = str(getattr(request, "param", "postgres"))
    if name == "jsonl":
        register(monkeypatch)
    return name


@pytest.fixture
def world(
    tmp_path: Path, warehouse: Connection, schema: str, spark: object, storage: Storage, destination: str
) -> World:
    connection = folder_of(tmp_path) if destination == "jsonl" else warehouse
    return WORLDS[destination](tmp_path, connection, schema, files=storage)
