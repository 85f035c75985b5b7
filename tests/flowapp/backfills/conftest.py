"""A pipeline with a backfill, and an engine that loads nothing but reports what a real one would."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.flowapp.backfills.engine import HistoryEngine
from tests.flowapp.cli.conftest import flow
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.pipelines.models import Pipeline

__all__ = ["as_", "flow", "person"]


def history_document(slug: str = "history", schema: str = "public", **changes: Any) -> dict[str, Any]:
    """A pipeline that follows a table of PostgreSQL, with a backfill."""
    source = {
        "id": "events",
        "kind": "source",
        "connector": "postgres",
        "connection": "warehouse",
        "config": {"table": {"schema": schema, "name": "events"}},
    }
    target = {
        "id": "load",
        "kind": "target",
        "inputs": ["events"],
        "connector": "postgres",
        "connection": "warehouse",
        "schema": schema,
        "table": "loaded",
        "loadMode": "incremental_watermark",
        "watermarkColumn": "at",
    }
    backfill = {"window": "30d", "parallelism": 2}
    document = {"kind": "pipeline", "version": "1.0", "id": slug, "nodes": [source, target], "backfill": backfill}
    return {name: value for name, value in (document | changes).items() if value is not None}


@pytest.fixture
def make(connected: Workspace, schema: str) -> Callable[..., Pipeline]:
    """Saves such a pipeline."""
    from flowapp.pipelines.services import save_version

    return lambda slug="history", **changes: (
        save_version(connected, json.dumps(history_document(slug, schema, **changes))).pipeline
    )


@pytest.fixture
def history(make: Callable[..., Pipeline]) -> Pipeline:
    return make()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of runs that were handed to the broker, which is not there."""
    from flowapp.runs import broker

    ids: list[str] = []
    monkeypatch.setattr(broker, "send_run", lambda run_id: ids.append(str(run_id)))
    monkeypatch.setattr("flowapp.runs.services.send_run", lambda run_id: ids.append(str(run_id)))
    return ids


@pytest.fixture
def engine(sent: list[str]) -> HistoryEngine:
    return HistoryEngine()
