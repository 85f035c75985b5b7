"""Backfills with the real engine: from the command line, without any other process, and as a workflow service does."""

from __future__ import annotations

import json

import pytest
from psycopg import sql

from flowapp.accounts.services import ensure_workspace
from flowapp.backfills.models import Backfill, Chunk, ChunkStatus
from flowapp.backfills.phases import Phase
from flowapp.runs.models import NodeRun, Run, RunKind, State
from tests.databases import connect_to
from tests.flowapp.backfills.conftest import history_document
from tests.flowapp.quarantine.keeping import connect_to as connect_workspace

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark]
ROWS = 200


@pytest.fixture
def events(warehouse, schema):
    """A table with an event every 12 hours of 100 days, and a function that queries the schema."""
    with connect_to(warehouse) as connection:
        table = sql.Identifier(schema, "events")
        connection.execute(sql.SQL("CREATE TABLE {} (id int PRIMARY KEY, at timestamp)").format(table))
        connection.execute(
            sql.SQL(
                "INSERT INTO {} SELECT n, '2024-01-01'::timestamp + n * interval '12 hours' "
                "FROM generate_series(1, {}) n"
            ).format(table, ROWS)
        )
        connection.commit()
        yield lambda text: _execute(connection, schema, text)


def _execute(connection, schema, text):
    cursor = connection.execute(text.replace("public.", f"{schema}."))
    rows = cursor.fetchall() if cursor.description else []
    connection.commit()
    return rows


@pytest.fixture
def saved(warehouse, schema, tmp_path, events, flow):
    """The pipeline, saved in the workspace of the command line."""
    connect_workspace(ensure_workspace("default"), warehouse)
    path = tmp_path / "history.json"
    path.write_text(json.dumps(history_document(schema=schema)))
    assert flow("pipeline", "save", str(path)).status == 0
    return "history"


def loaded(events) -> tuple[int, int]:
    """The number of rows and of different rows in the target."""
    return events("SELECT count(*), count(DISTINCT id) FROM public.loaded")[0]


def test_one_command_plans_loads_and_ends_a_backfill_and_the_next_one_loads_what_is_new(saved, flow, events):
    first = flow("run", saved, "--json")
    assert (first.status, first.json["state"]) == (0, "succeeded"), first.json["error"]
    assert loaded(events) == (ROWS, ROWS)
    backfill = Backfill.objects.get()
    assert (backfill.phase, backfill.chunks.count()) == (Phase.STREAMING, 4)
    assert NodeRun.objects.get(run=backfill.run, kind="target").rows_loaded == ROWS - 1
    events("INSERT INTO public.events VALUES (201, '2024-05-01'), (202, '2024-04-10 00:00')")
    second = flow("run", saved, "--json")
    assert second.status == 0, second.json["error"]
    assert loaded(events) == (ROWS + 2, ROWS + 2)
    assert Run.counted.order_by("number").last().kind == RunKind.LOAD


@pytest.mark.slow
def test_a_workflow_service_asks_for_chunks_runs_each_of_them_and_stops_when_none_is_left(saved, flow, events):
    passes = []
    for _ in range(10):
        found = flow("backfill", "next", saved, "--limit", "10", "--json")
        passes.append(found.status)
        if found.status != 0:
            break
        for chunk in found.json["chunks"]:
            done = flow("run", saved, "--chunk", str(chunk["chunk"]), "--json")
            assert (done.status, done.json["state"]) == (0, "succeeded"), done.json["error"]
    assert passes == [0, 8]
    again = flow("run", saved, "--chunk", "1", "--json")
    assert again.status == 0
    assert Chunk.objects.get(ordinal=1).attempts == 1
    assert flow("backfill", "status", saved, "--json").json["phase"] == "streaming"
    flow("run", saved)
    assert loaded(events) == (ROWS, ROWS)


@pytest.mark.slow
def test_a_chunk_that_fails_can_be_run_again_by_its_number(saved, flow, events):
    assert flow("backfill", "next", saved).status == 0
    events("ALTER TABLE public.events RENAME TO elsewhere")
    failed = flow("run", saved, "--chunk", "1", "--json")
    assert failed.status == 1
    assert Chunk.objects.get(ordinal=1).status == ChunkStatus.FAILED
    events("ALTER TABLE public.elsewhere RENAME TO events")
    assert flow("run", saved, "--chunk", "1").status == 0
    assert Chunk.objects.get(ordinal=1).status == ChunkStatus.DONE


@pytest.mark.slow
def test_a_paused_backfill_refuses_runs_with_a_status_of_its_own(saved, flow, events):
    flow("backfill", "next", saved)
    assert flow("backfill", "pause", saved, "--reason", "month end").status == 0
    assert flow("run", saved).status == 3
    assert flow("backfill", "resume", saved).status == 0
    assert flow("run", saved).status == 0
    assert loaded(events) == (ROWS, ROWS)
    assert set(Run.counted.values_list("state", flat=True)) <= {State.SUCCEEDED, State.CANCELLED}
