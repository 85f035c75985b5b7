"""A pipeline that follows a table, and its stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from executors.model import Connection
from tests.databases import connect_to
from tests.executors.postgres_cdc.conftest import logical, source
from tests.flowapp.web.conftest import as_, person

__all__ = ["as_", "logical", "person", "source"]


@pytest.fixture(autouse=True)
def streaming(settings: Any) -> None:
    settings.FLOW_STREAMING_ENABLED = True


def following(schema: str, slug: str = "mirror", **changes: Any) -> dict[str, Any]:
    """A document that follows the table `public.s` of the connection `source`."""
    return {
        "kind": "pipeline",
        "version": "1.0",
        "id": slug,
        "nodes": [
            {
                "id": "changes",
                "kind": "source",
                "connector": "postgres_cdc",
                "connection": "source",
                "config": {"table": {"schema": "public", "name": "s"}},
            },
            {
                "id": "load",
                "kind": "target",
                "inputs": ["changes"],
                "connector": "postgres",
                "connection": "warehouse",
                "schema": schema,
                "table": "mirrored",
                "loadMode": "cdc_mirror",
                "cdcSource": "changes",
            },
        ],
        **changes,
    }


@pytest.fixture
def mirrored(connected: Any, schema: str, warehouse: Connection) -> Any:
    """The pipeline, whose source need not exist."""
    return _saved(connected, schema, warehouse)


@pytest.fixture
def followed(connected: Any, schema: str, source: Connection, settings: Any, tmp_path: Path) -> Any:
    """The pipeline, whose source is a table with three rows."""
    settings.FILES_ROOT = tmp_path
    with connect_to(source) as connection:
        connection.execute("create table s (id int primary key, name text)")
        connection.execute("insert into s values (1, 'a'), (2, 'b'), (3, 'c')")
    return _saved(connected, schema, source)


def _saved(workspace: Any, schema: str, source: Connection) -> Any:
    from flowapp.connections.fields import ConnectionFields
    from flowapp.connections.services import add_connection
    from flowapp.pipelines.services import save_version

    address = (source.host, source.port, source.database, source.user, source.password)
    add_connection(workspace, "source", ConnectionFields("postgres", *address))
    return save_version(workspace, json.dumps(following(schema))).pipeline


@pytest.fixture
def rows(warehouse: Connection, schema: str) -> Iterator[Callable[[], list[tuple[Any, ...]]]]:
    """Returns the rows of the target."""
    with connect_to(warehouse) as connection:
        yield lambda: connection.execute(f"select id, name from {schema}.mirrored order by id").fetchall()
