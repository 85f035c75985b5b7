"""A pipeline with rules and a quarantine, and its tables as loads leave them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.meta import ensure_meta
from tests.flowapp.conftest import make_document
from tests.flowapp.web.conftest import as_, person

if TYPE_CHECKING:
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Run

__all__ = ["as_", "person"]
HASH = "a" * 64


@pytest.fixture
def database(warehouse: Connection) -> Iterator[psycopg.Connection]:
    with connect(warehouse, autocommit=True) as connection:
        ensure_meta(connection)
        yield connection


@pytest.fixture
def checked(save: Callable[..., Any], schema: str) -> Pipeline:
    """files → shape (no becomes id) → check → load, upserting by id."""
    source, load = make_document(schema=schema)["nodes"]
    del source["columns"]
    shape = {
        "id": "shape",
        "kind": "transform",
        "inputs": ["files"],
        "ops": [{"op": "rename", "columns": {"no": "id"}}],
    }
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["shape"],
        "rowLevel": [{"id": "named", "type": "notNull", "field": "name", "onFail": "skip"}],
        "quarantine": {"enabled": True, "table": f"{schema}.rejects"},
    }
    load = {
        **load,
        "inputs": ["check"],
        "loadMode": "upsert",
        "upsertKey": ["id"],
        "columns": [{"name": "id", "type": "integer"}, {"name": "name", "type": "string"}],
    }
    pipeline: Pipeline = save(nodes=[source, shape, check, load]).pipeline
    return pipeline


@pytest.fixture
def run(checked: Pipeline) -> Run:
    from flowapp.runs.models import Trigger
    from flowapp.runs.services import queue_run

    return queue_run(checked, Trigger.CLI, send=False)


@pytest.fixture
def table(database: psycopg.Connection, schema: str, run: Run) -> Callable[..., None]:
    """Makes the target with rows of (id, name, record), all of one file and run; `columns` are those beside them."""

    def make(
        *rows: tuple[int, str, int], columns: str = "_source_file_hash text, _flow_run uuid, _source_record bigint"
    ):
        database.execute(f'CREATE TABLE "{schema}".numbers (id integer PRIMARY KEY, name text, {columns})')
        for slug, name, record in rows:
            filled = {"_source_file_hash": HASH, "_flow_run": run.pk, "_source_record": record}
            values = [slug, name, *(filled.get(column.split()[0]) for column in columns.split(", "))]
            marks = ", ".join(["%s"] * len(values))
            database.execute(f'INSERT INTO "{schema}".numbers VALUES ({marks})', values)

    return make
