"""Chunks that were loaded with an earlier version of the document, and the warnings of chunks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from executors.model import Chunk
from flowapp.backfills.models import Backfill
from flowapp.backfills.phases import Phase
from flowapp.backfills.selectors import newest_backfill
from flowapp.backfills.services import Actor, load_outdated_again, pause
from flowapp.backfills.staleness import describe_outdated, list_outdated
from flowapp.runs.models import Run, RunKind, State, Trigger
from flowapp.runs.services import queue_run
from ir.errors import FlowError
from tests.flowapp.backfills.conftest import history_document
from tests.flowapp.backfills.engine import execute, execute_all, plan_of
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db(transaction=True)
ANN = Actor("ann@example.org", Trigger.MANUAL)
PAGE = "/w/alices-team/backfills/history/"


def load(pipeline, engine) -> None:
    execute(queue_run(pipeline, Trigger.MANUAL), engine)
    execute_all(pipeline, engine)


def map_otherwise(pipeline, make) -> None:
    """Save a version that loads other values from the same source into the same table."""
    nodes = history_document(schema=pipeline.target.split(".")[0])["nodes"]
    nodes[1]["emptyAsNull"] = False
    make(nodes=nodes)


def test_chunks_of_an_earlier_version_are_named_and_replaced_when_asked(history, make, engine, as_):
    engine.failing = {2}
    load(history, engine)
    map_otherwise(history, make)
    assert "2 chunks of the backfill stay as an earlier version has loaded them" in describe_outdated(history)
    text = words(as_("editor").get(PAGE))
    assert "2 chunks loaded with an earlier version of the pipeline" in text
    engine.failing, engine.jobs = set(), []
    load_outdated_again(history, ANN, "another mapping")
    execute_all(history, engine)
    replaced = {job.chunk.chunk.ordinal: job.chunk.replaces for job in engine.jobs if job.chunk}
    assert replaced == {1: True, 2: False, 3: True}
    assert newest_backfill(history).phase == Phase.STREAMING
    assert describe_outdated(history) == ""


def test_after_the_end_the_range_of_such_chunks_is_loaded_again(history, make, engine):
    load(history, engine)
    map_otherwise(history, make)
    again = load_outdated_again(history, ANN, "another mapping")
    assert (again.lower, again.upper, again.phase) == ("0", "90", Phase.PLANNING)


def test_the_range_of_chunks_of_several_partitions_has_all_of_them(history, make, engine):
    parts = (("a", "0", "30"), ("a", "30", "90"), ("b", "9", "60"))
    chunks = [Chunk(n, "at", lower, upper, {"repo": repo}) for n, (repo, lower, upper) in enumerate(parts, 1)]
    engine.plan = replace(plan_of(0), chunks=tuple(chunks))
    load(history, engine)
    map_otherwise(history, make)
    again = load_outdated_again(history, ANN, "another mapping")
    assert (again.lower, again.upper) == ("0", "90")


def test_a_version_that_loads_the_same_rows_outdates_nothing(history, make, engine):
    load(history, engine)
    make(backfill={"window": "1d"}, schedule={"kind": "every", "interval": "15m"})
    assert not list_outdated(newest_backfill(history)).exists()
    with pytest.raises(FlowError) as nothing:
        load_outdated_again(history, ANN)
    assert nothing.value.code == "backfill.nothing_outdated"


def test_chunks_are_loaded_again_only_when_no_run_of_the_earlier_version_goes_on(history, make, engine):
    execute(queue_run(history, Trigger.MANUAL), engine)
    execute_all(history, engine, most=1)
    map_otherwise(history, make)
    with pytest.raises(FlowError) as busy:
        load_outdated_again(history, ANN)
    assert busy.value.code == "run.busy"
    pause(history, ANN)
    execute_all(history, engine)
    load_outdated_again(history, ANN)
    execute_all(history, engine)
    assert set(Run.objects.filter(chunks__isnull=False).values_list("version__number", flat=True)) == {2}
    assert newest_backfill(history).phase == Phase.STREAMING


def test_the_warnings_of_chunks_are_those_of_the_run_of_the_backfill_too(history, engine):
    engine.chunks, engine.warning = 7, "1 row was older."
    load(history, engine)
    run = Backfill.objects.get().run
    assert (run.kind, run.state) == (RunKind.BACKFILL, State.SUCCEEDED_WITH_WARNINGS)
    found = [warning.message for warning in run.stored_report.warnings]
    assert found[0] == "Chunk 1: 1 row was older."
    assert found[-1] == "2 further chunks with this warning; see their runs."


def test_programs_see_and_load_chunks_of_earlier_versions(history, make, engine, as_):
    load(history, engine)
    map_otherwise(history, make)
    api, here = "/api/pipelines/history/", {"X-Flow-Workspace": "alices-team"}
    assert as_("viewer").get(f"{api}status/", headers=here).json()["chunks"]["outdated"] == 3
    body = json.dumps({"outdated": True, "reason": "another mapping"})
    answer = as_("editor").post(f"{api}backfill/retry/", body, content_type="application/json", headers=here)
    assert (answer.status_code, answer.json()["phase"]) == (202, "planning")
