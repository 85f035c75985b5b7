"""Sources over the object stores of the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from executors.errors import Failure
from executors.model import SourceFile, StoreConnection
from executors.sources.base import Claimant, SourceContext
from executors.sources.object_store import ObjectStore
from ir.nodes import Source
from tests.connectors.object_storage import ObjectStorage

LATER = 4e9
"""A time at which all files have settled."""


def source_of(
    storage: ObjectStorage,
    token: int | None = 1,
    pipeline: str = "orders",
    connection: StoreConnection | None = None,
    run: str = "run",
    tenant: str = "a",
    **config: Any,
) -> ObjectStore:
    settings = {
        "path": storage.path,
        "pattern": {"type": "glob", "value": "*.csv"},
        "format": {"type": "csv"},
        "atomicity": dict(storage.atomicity),
        **config,
    }
    given = {name: value for name, value in settings.items() if value is not None}
    node = Source(id="src", kind="source", connector=storage.connector, connection="files", config=given)
    claimant = Claimant(pipeline, frozenset(["src"]), run, token, tenant)
    return ObjectStore(node, SourceContext(Path(), claimant, store=connection or storage.connection))


def only(source: ObjectStore) -> SourceFile:
    (file,) = source.find_files(LATER)
    return file


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(Failure) as failure:
        action()
    return failure.value.code
