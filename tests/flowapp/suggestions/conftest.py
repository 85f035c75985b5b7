"""A pipeline with a validate node, and a sample of its source."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from executors.load_record import RunRef
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from executors.postgres.samples import keep_source_sample
from tests.flowapp.conftest import make_document
from tests.flowapp.runs.conftest import sent
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline

__all__ = ["as_", "person", "sent"]
ROWS = [{"id": n, "name": f"N{n:04}", "colour": ("red", "green")[n % 2]} for n in range(40)]


@pytest.fixture
def checked(save: Callable[..., Any], schema: str) -> Pipeline:
    """files → check (colour must not be empty) → load."""
    source, load = make_document(schema=schema)["nodes"]
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["files"],
        "rowLevel": [{"type": "notNull", "field": "colour", "onFail": "skip"}],
    }
    pipeline: Pipeline = save(nodes=[source, check, {**load, "inputs": ["check"]}]).pipeline
    return pipeline


@pytest.fixture
def sampled(checked: Pipeline, warehouse: Connection) -> Callable[..., None]:
    """Keeps rows as the sample of the source."""

    def keep(rows: list[dict[str, Any]] = ROWS) -> None:
        run = RunRef(str(uuid.uuid4()), str(checked.workspace_id), checked.slug, "load", 1, 1)
        with connect(warehouse, autocommit=True) as connection:
            ensure_meta(connection)
            keep_source_sample(connection, run, [("a.csv", number, row) for number, row in enumerate(rows, 1)])

    return keep
