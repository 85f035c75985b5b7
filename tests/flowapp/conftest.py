"""Fixtures for tests of the control plane: a workspace, a connection to the warehouse, and a small pipeline into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from executors.model import Connection

if TYPE_CHECKING:
    from flowapp.accounts.models import Workspace
    from flowapp.pipelines.models import Pipeline, PipelineVersion


def make_document(slug: str = "numbers", schema: str = "public", **changes: Any) -> dict[str, Any]:
    """A pipeline that loads CSV files into `<schema>.numbers`."""
    config = {
        "path": "in",
        "pattern": {"type": "glob", "value": "*.csv"},
        "format": {"type": "csv"},
        "waitPolicy": {"settleSeconds": 0},
    }
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": slug,
        "nodes": [
            {
                "id": "files",
                "kind": "source",
                "connector": "local_fs",
                "config": config,
                "columns": [{"name": "id", "type": "integer"}],
            },
            {
                "id": "load",
                "kind": "target",
                "inputs": ["files"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": schema,
                "table": "numbers",
                "loadMode": "append",
            },
        ],
        **changes,
    }


@pytest.fixture(autouse=True)
def described_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validate every API response of a test against `/api/schema/`."""
    from django.test import Client

    from tests.flowapp.described import require_described

    ask = Client.request

    def request(client: Client, **environ: Any) -> Any:
        response = ask(client, **environ)
        if environ.get("PATH_INFO", "").startswith("/api/"):
            require_described(response)
        return response

    monkeypatch.setattr(Client, "request", request)


@pytest.fixture
def workspace(db: None) -> Workspace:
    from flowapp.accounts.models import Workspace

    return Workspace.objects.create(slug="alices-team")


@pytest.fixture
def connected(workspace: Workspace, warehouse: Connection) -> Workspace:
    """The workspace with a stored connection `warehouse`."""
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection

    fields = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    add_connection(workspace, "warehouse", fields)
    return workspace


@pytest.fixture
def document(schema: str) -> Callable[..., dict[str, Any]]:
    """Makes the small pipeline's document, with changes."""
    return lambda slug="numbers", **changes: make_document(slug, schema, **changes)


@pytest.fixture
def save(connected: Workspace, schema: str) -> Callable[..., PipelineVersion]:
    """Saves the small pipeline, with changes to its document."""
    from flowapp.pipelines.services import save_version

    def call(slug: str = "numbers", **changes: Any) -> PipelineVersion:
        return save_version(connected, json.dumps(make_document(slug, schema, **changes)))

    return call


@pytest.fixture
def pipeline(save: Callable[..., PipelineVersion]) -> Pipeline:
    """The small pipeline, saved once."""
    return save().pipeline
