"""The steps of runs with their times, as stored and as shown."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from executors.errors import Transient
from flowapp.runs.dispatch import run_inline
from flowapp.runs.models import State
from flowapp.runs.step_table import list_step_rows
from flowapp.runs.timeline import MOST_STEPS, Timeline, read_timeline
from ir.connectors import CONNECTORS
from tests.flowapp.conftest import make_document
from tests.flowapp.reading import words
from tests.flowapp.runs.table_engine import TableEngine

AT = "/w/alices-team/runs/"


def test_a_step_ends_where_the_next_one_begins():
    timeline = Timeline([], 1)
    timeline.enter("pass", "load")
    timeline.count("pass", 10)
    timeline.count("load", 99)
    timeline.enter("load", "load")

    first, second = read_timeline(timeline.to_json())
    assert (first.rows, second.rows) == (10, None)
    assert first.ms is not None
    assert second.ms is None


def test_an_attempt_does_not_end_the_steps_of_the_one_before():
    lost = Timeline([], 1)
    lost.enter("pass", "load")
    retried = Timeline(lost.to_json(), 2)
    retried.enter("start", "")
    retried.close()

    assert [step.ms is None for step in read_timeline(retried.to_json())] == [True, False]


def test_what_a_run_stores_is_bounded():
    timeline = Timeline([], 1)
    for n in range(MOST_STEPS + 5):
        timeline.enter(f"s{n}", "")

    stored = timeline.to_json()
    assert len(stored) == MOST_STEPS
    assert stored[-1]["name"] == f"s{MOST_STEPS + 4}"


@pytest.mark.parametrize(
    ("connector", "config", "label"),
    [
        ("local_fs", dict(CONNECTORS["local_fs"].starts_with), "Find files"),
        ("http_api", {"url": "https://api.example.com/orders", "records": "$"}, "Request pages"),
        ("singer", {"tap": "shop", "stream": "orders", "keepState": False}, "Run the tap"),
        ("sqlite", {"path": "a.db", "table": {"name": "t"}}, "Query the database"),
    ],
)
def test_the_first_step_with_a_source_is_named_by_its_kind(connector, config, label):
    source = {"id": "files", "kind": "source", "connector": connector, "config": config}
    document = make_document()
    document["nodes"] = [source, document["nodes"][1] | {"emptyAsNull": True}]
    timeline = Timeline([], 1)
    timeline.enter("list", "files")
    timeline.describe("list", "2 pages")
    timeline.close()
    run = SimpleNamespace(timeline=timeline.to_json(), document=json.dumps(document), state=State.SUCCEEDED, attempt=1)
    (row,) = list_step_rows(run)
    assert (row.label, row.note) == (label, "2 pages")


def test_a_note_belongs_to_the_current_step():
    timeline = Timeline([], 1)
    timeline.enter("pass", "load")
    timeline.describe("list", "2 pages")
    assert read_timeline(timeline.to_json())[0].note == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("sent")
def test_a_run_stores_its_steps(pipeline, target, as_):
    run = run_inline(pipeline, engine=TableEngine())

    assert run.state == State.SUCCEEDED
    assert [row.label for row in list_step_rows(run)] == ["Start", "Read, validate and stage rows", "Load", "Finish"]
    assert all(row.state == "done" and row.seconds is not None for row in list_step_rows(run))
    assert "Load (done)" in words(as_("viewer").get(f"{AT}{run.pk}/"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("sent")
def test_a_failed_run_marks_the_step_that_failed(pipeline, target):
    def fail(job, ports):
        raise Transient("target.lost", "The server closed the connection.")

    run = run_inline(pipeline, engine=TableEngine(at={"load": fail}))

    assert [row.state for row in list_step_rows(run)] == ["done", "done", "failed"]
