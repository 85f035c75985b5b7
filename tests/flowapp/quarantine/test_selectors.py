"""Listing rejected rows from the tables that keep them."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from executors.errors import Failure
from executors.model import Connection
from executors.postgres.client import connect
from executors.postgres.quarantine import ensure_quarantine
from flowapp.accounts.services import ensure_workspace
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.models import Pipeline
from flowapp.pipelines.services import save_version
from flowapp.quarantine.selectors import list_entries
from flowapp.runs.models import Run, Trigger
from flowapp.runs.services import queue_run

pytestmark = pytest.mark.django_db
DEMO = json.loads(files("flowapp.demo").joinpath("nyc-flights.json").read_text())


@pytest.fixture
def alices(warehouse: Connection):
    workspace = ensure_workspace("alices")
    fields = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    add_connection(workspace, "warehouse", fields)
    return workspace


@pytest.fixture
def orders(alices, schema: str) -> Pipeline:
    """A pipeline whose rejects stand in a table with a difficult name."""
    return save(alices, "orders", f'{schema}."My Orders"')


def save(workspace, ident: str, table: str) -> Pipeline:
    document = json.loads(json.dumps(DEMO)) | {"id": ident}
    document["nodes"][2]["quarantine"]["table"] = table
    return save_version(workspace, json.dumps(document)).pipeline


def keep(warehouse: Connection, pipeline: Pipeline, table: str, rule: str, run: Run | None = None, n: int = 1) -> None:
    """Put entries of one rule into a quarantine table."""
    entry = {
        "pipelineId": pipeline.ident, "runId": str(run.pk) if run else "r", "nodeId": "check", "ruleId": rule,
        "row": Jsonb({"id": 1}), "message": "is NULL", "severity": "skip", "disposition": "dropped", "attempt": 1,
        "targetNode": "load", "sourceFile": "a.csv", "sourceRecord": 7, "rowFrom": "source",
    }  # fmt: skip
    schema, name = table.split(".")
    insert = sql.SQL('INSERT INTO {} ({}, "rowId") VALUES ({}, {})')
    with connect(warehouse, autocommit=True) as connection:
        ensure_quarantine(connection, table)
        for i in range(n):
            connection.execute(
                insert.format(
                    sql.Identifier(schema, name.strip('"')),
                    sql.SQL(", ").join(map(sql.Identifier, entry)),
                    sql.SQL(", ").join(map(sql.Literal, entry.values())),
                    sql.Literal(f"{rule}-{i}"),
                )
            )


def test_entries_tell_rule_row_and_place(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")

    [entry] = list_entries(alices, pipeline=orders)
    assert (entry["ruleId"], entry["row"], entry["sourceFile"], entry["sourceRecord"]) == ("r1", {"id": 1}, "a.csv", 7)
    assert (entry["table"], entry["connection"], entry["status"]) == (f"{schema}.My Orders", "warehouse", "open")


def test_a_table_that_was_never_needed_holds_nothing(alices, orders):
    assert list_entries(alices) == []


def test_entries_are_found_by_rule(alices, orders, warehouse, schema):
    for rule in ("r1", "r2"):
        keep(warehouse, orders, f'{schema}."My Orders"', rule)

    assert [entry["ruleId"] for entry in list_entries(alices, rule="r2")] == ["r2"]


def test_entries_are_found_by_run_even_after_the_pipeline_keeps_them_elsewhere(alices, orders, warehouse, schema):
    run = queue_run(orders, Trigger.CLI, send=False)
    keep(warehouse, orders, f'{schema}."My Orders"', "old", run)
    moved = save(alices, "orders", f"{schema}.elsewhere")
    keep(warehouse, moved, f"{schema}.elsewhere", "new")

    assert [entry["ruleId"] for entry in list_entries(alices, run=run)] == ["old"]
    assert [entry["ruleId"] for entry in list_entries(alices)] == ["new"]


def test_a_table_shared_by_pipelines_gives_each_its_own(alices, orders, warehouse, schema):
    returns = save(alices, "returns", f'{schema}."My Orders"')
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")
    keep(warehouse, returns, f'{schema}."My Orders"', "r2")

    assert [entry["ruleId"] for entry in list_entries(alices, pipeline=orders)] == ["r1"]
    assert [entry["ruleId"] for entry in list_entries(alices)] == ["r2", "r1"]


def test_the_newest_entries_come_first_and_no_more_than_asked_for(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1", n=5)

    assert [entry["rowId"] for entry in list_entries(alices, limit=2)] == ["r1-4", "r1-3"]


def test_a_database_that_cannot_be_asked_is_an_error_and_not_an_empty_list(alices, orders, warehouse):
    alices.connections.update(port=1)

    with pytest.raises(Failure) as caught:
        list_entries(alices)
    assert caught.value.code == "target.unreachable"


def test_another_workspace_sees_nothing(alices, orders, warehouse, schema):
    keep(warehouse, orders, f'{schema}."My Orders"', "r1")

    assert list_entries(ensure_workspace("bobs")) == []
