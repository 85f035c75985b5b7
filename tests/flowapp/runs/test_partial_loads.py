"""A run of several targets of which some are loaded: its report, and loading the missing ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from psycopg import sql

from executors.model import Connection
from flowapp.alerts.models import Alert, AlertState
from flowapp.runs.cli.run import ended
from flowapp.runs.dispatch import run_inline, run_to_end
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.services import retry_missing
from ir.errors import FlowError
from tests.databases import connect_to
from tests.flowapp.reading import words

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]
HERE = {"X-Flow-Workspace": "alices-team"}


@pytest.fixture
def execute(warehouse: Connection, schema: str) -> Callable[[str], list[tuple[Any, ...]]]:
    def call(statement: str) -> list[tuple[Any, ...]]:
        with connect_to(warehouse) as conn:
            conn.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
            cursor = conn.execute(statement)  # type: ignore[call-overload]
            return cursor.fetchall() if cursor.description else []

    return call


def two_targets(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    source, load = nodes
    return [source, {**load, "id": "first", "table": "one"}, {**load, "id": "second", "table": "two"}]


def of_table(schema: str) -> dict[str, Any]:
    config = {"table": {"schema": schema, "name": "src"}}
    return {"id": "files", "kind": "source", "connector": "postgres", "connection": "warehouse", "config": config}


@pytest.fixture
def pipeline(save, document, execute, settings, tmp_path, schema, request):
    """Loads three rows into two tables, the second of which refuses them."""
    execute("create table one (id int); create table two (id int check (id < 3))")
    nodes = two_targets(document()["nodes"])
    if getattr(request, "param", "files") == "table":
        execute("create table src as select generate_series(1, 3) as id")
        nodes[0] = of_table(schema)
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / "alices-team" / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n2\n3\n")
    return save(nodes=nodes).pipeline


def loaded(execute) -> tuple[int, int]:
    return execute("select count(*) from one")[0][0], execute("select count(*) from two")[0][0]


def retried(run: Run) -> Run:
    return run_to_end(retry_missing(run, Trigger.CLI, send=False))


@pytest.mark.spark
@pytest.mark.parametrize("pipeline", ["files", "table"], indirect=True)
def test_a_retry_loads_the_missing_targets_once(as_, pipeline, execute):
    run = run_inline(pipeline)
    assert (run.state, loaded(execute), ended(run).status) == (State.PARTIALLY_LOADED, (3, 0), 7)
    alert = Alert.objects.get()
    assert "Partially loaded: first loaded, second not." in alert.message
    page = words(as_("editor").get(f"/w/alices-team/runs/{run.pk}/"))
    assert "Partially loaded" in page
    assert "Not loaded: second." in page
    answer = as_("editor").get(f"/api/runs/{run.pk}/", headers=HERE).json()
    assert (answer["state"], answer["missingTargets"]) == ("partially_loaded", ["second"])

    execute("alter table two drop constraint two_id_check")
    retry = retried(run)
    assert (retry.state, loaded(execute)) == (State.SUCCEEDED, (3, 3))
    alert.refresh_from_db()
    assert alert.state == AlertState.RESOLVED
    run.refresh_from_db()
    assert run.state == State.PARTIALLY_LOADED
    with pytest.raises(FlowError, match=r"run\.retried"):
        retry_missing(run, Trigger.MANUAL)


@pytest.mark.spark
def test_a_retry_that_fails_leaves_the_run_to_be_retried(pipeline, execute):
    run = run_inline(pipeline)
    assert retried(run).state in (State.FAILED, State.PARTIALLY_LOADED)
    execute("alter table two drop constraint two_id_check")
    assert (retried(run).state, loaded(execute)) == (State.SUCCEEDED, (3, 3))


def test_only_partially_loaded_runs_are_retried(as_, pipeline):
    from flowapp.runs.services import queue_run

    run = queue_run(pipeline, Trigger.MANUAL)
    assert as_("editor").post(f"/api/runs/{run.pk}/retry/", headers=HERE).json()["code"] == "run.not_partial"
    assert as_("viewer").post(f"/api/runs/{run.pk}/retry/", headers=HERE).status_code == 403
