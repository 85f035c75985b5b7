"""Requests of runs over rejected rows: the resulting runs, their input, and refusals."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from executors.report import RunReport
from flowapp.pipelines.selectors import get_version
from flowapp.pipelines.services import save_version
from flowapp.quarantine.choosing import choose_alike, choose_by_keys
from flowapp.quarantine.inline import rows_inline
from flowapp.quarantine.models import RowJob
from flowapp.quarantine.records import rows_of
from flowapp.quarantine.replaying import ALL, ask_for_runs, replay_notes
from flowapp.quarantine.selectors import EntryFilter
from flowapp.runs.holds import Decider
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import Run, RunKind, Trigger
from flowapp.runs.targets import has_loaded_all
from ir.errors import FlowError
from tests.flowapp.quarantine.keeping import DEMO, keep, save
from tests.flowapp.reading import words

pytestmark = pytest.mark.django_db
ANN = Decider("ann")


@pytest.fixture
def table(schema) -> str:
    return f'{schema}."My Orders"'


def ask(kind: RunKind, selection, **options):
    return ask_for_runs(kind, selection, Trigger.MANUAL, ANN, send=False, **options)


def test_rows_as_the_source_gave_them_and_as_they_came_to_the_node_go_by_runs_of_their_own(
    alices, orders, warehouse, table
):
    keep(warehouse, orders, table, "r1", n=2)
    keep(warehouse, orders, table, "r2", rowFrom="input")
    runs = ask(RunKind.REPLAY, choose_alike(alices, EntryFilter(pipeline=orders), ANN))
    assert {(run.kind, run.row_job.node, run.row_job.row_from) for run in runs} == {
        ("replay", "load", "source"),
        ("replay", "load", "input"),
    }
    assert sorted(len(rows_of(run).tables[0][2]) for run in runs) == [1, 2]
    assert all(run.version.number == orders.latest_number for run in runs)


def test_a_run_gets_the_rows_that_may_replace_newer_ones_and_the_hashes_of_files(alices, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", n=2)
    LoadUnit.objects.create(
        workspace=alices,
        pipeline=orders,
        node="src",
        name="a.csv",
        sha256="ab" * 32,
        size=1,
        state="committed",
        changed_at=timezone.now(),
    )
    chosen = choose_alike(alices, EntryFilter(pipeline=orders), ANN)
    (some,) = ask(RunKind.REPLAY, chosen, overwrite=[f"{run}:r1-0"])
    (every,) = ask(RunKind.REPLAY, chosen, overwrite=ALL)
    assert (len(rows_of(some).overwrite), len(rows_of(every).overwrite)) == (1, 2)
    assert rows_of(some).hashes == {(run, "a.csv"): "ab" * 32}


def test_an_expression_applies_to_the_rows_at_the_time_of_the_request(alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", n=2, revision=3)
    chosen = choose_alike(alices, EntryFilter(pipeline=orders), ANN)
    (fixing,) = ask(RunKind.FIX, chosen, column="id", expression="trim(id)")
    (replay,) = ask(RunKind.REPLAY, chosen)
    assert (rows_of(fixing).revisions, rows_of(replay).revisions) == ([(3, 3)], ())


def test_an_expression_knows_which_rows_it_has_fixed_before(alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1")
    chosen = choose_alike(alices, EntryFilter(pipeline=orders), ANN)
    (first,), (other,) = (ask(RunKind.FIX, chosen, column=column, expression="trim(id)") for column in ("id", "name"))
    for n, run in enumerate((first, other)):
        keep(warehouse, orders, table, f"fixed-{n}", fixRun=str(run.pk))
    keep(warehouse, orders, table, "elsewhere", fixRun="of another installation")
    again = choose_alike(alices, EntryFilter(pipeline=orders), ANN)
    (fix,) = ask(RunKind.FIX, again, column="id", expression="trim(id)", replace_typed=True)
    assert rows_of(fix).computed_by == {str(first.pk)}
    assert (rows_of(first).replaces_typed, rows_of(fix).replaces_typed) == (False, True)


def test_a_target_that_is_gone_or_elsewhere_is_reported_at_once(alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1", targetNode="gone")
    with pytest.raises(FlowError, match=r"replay\.elsewhere"):
        ask(RunKind.REPLAY, choose_alike(alices, EntryFilter(pipeline=orders), ANN))
    assert RowJob.objects.count() == 0


def test_an_expression_is_checked_before_a_run_is_queued(alices, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1")
    chosen = choose_by_keys(alices, [f"{run}:r1-0"], ANN)
    for expression in ("", "trim(", "reflect('java.lang.System', 'exit')", "(SELECT 1)"):
        with pytest.raises(FlowError):
            ask(RunKind.FIX, chosen, column="id", expression=expression)
    assert RowJob.objects.count() == 0


def test_a_replay_is_done_when_its_own_target_is(alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1")
    (run,) = ask(RunKind.REPLAY, choose_alike(alices, EntryFilter(pipeline=orders), ANN))
    commit = type("Commit", (), {"node": "load"})
    assert has_loaded_all(run, [commit])
    assert not has_loaded_all(run, [])


def test_a_replay_that_a_killed_command_left_behind_is_finished_by_its_own_engine(
    alices, orders, warehouse, table, monkeypatch
):
    keep(warehouse, orders, table, "r1")
    chosen = choose_alike(alices, EntryFilter(pipeline=orders), ANN)
    (left,), (checked,) = ask(RunKind.REPLAY, chosen), ask(RunKind.RECHECK, chosen)
    Run.objects.filter(pk=left.pk).update(queued_at=timezone.now() - timedelta(hours=1))
    ran = []

    def engine_of(kind):
        return lambda job, ports: (ran.append((kind, job.run_id)), RunReport())[1]

    monkeypatch.setattr("flowapp.runs.dispatch.engine_for", lambda run: engine_of(run.kind))
    rows_inline([checked], engine_of("recheck"))
    assert ran == [("replay", str(left.pk)), ("recheck", str(checked.pk))]


def test_a_check_shows_the_row_of_the_table_beside_the_one_that_comes(as_, alices, orders, warehouse, table):
    keep(warehouse, orders, table, "r1")
    (run,) = ask(RunKind.RECHECK, choose_alike(alices, EntryFilter(pipeline=orders), ANN))
    conflict = {"key": {"id": "7"}, "changes": {"name": ["Ann", None]}}
    row = {"key": "r:r1-0", "id": 1, "sourceFile": "a.csv", "sourceRecord": 1, "result": "taken", "rules": []}
    results = [{**row, "conflict": conflict}, {**row, "conflict": None}]
    rows_inline([run], lambda job, ports: RunReport(row_counts={"taken": 2}, row_results=results))
    reported = as_("admin").get(f"/api/runs/{run.pk}/", headers={"X-Flow-Workspace": alices.slug}).json()
    assert [one["conflict"] for one in reported["rows"]["results"]] == [conflict, None]


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("append", 0),
        ("truncate", "is replaced completely"),
        ("upsert", "same key"),
        ("incremental_watermark", "The watermark does not change"),
    ],
)
def test_what_to_know_before_is_said_by_mode(alices, schema, mode, expected):
    document = json.loads(json.dumps(DEMO)) | {"id": mode.replace("_", "-")}
    target = document["nodes"][-1]
    for name in ("upsertKey", "watermarkColumn", "expectedRowCountDelta", "failOnEmptySource"):
        target.pop(name, None)
    target["loadMode"] = mode
    target |= {"upsert": {"upsertKey": ["year"]}, "incremental_watermark": {"watermarkColumn": "day"}}.get(mode, {})
    pipeline = save_version(alices, json.dumps(document)).pipeline
    notes = replay_notes(pipeline, {target["id"]})
    assert (expected in notes[0]) if expected else notes == []


def test_pipelines_that_share_a_table_do_not_get_each_others_rows(alices, orders, warehouse, table):
    returns = save(alices, "returns", table)
    keep(warehouse, orders, table, "r1")
    keep(warehouse, returns, table, "r2")
    (run,) = ask(RunKind.REPLAY, choose_alike(alices, EntryFilter(pipeline=returns), ANN))
    assert run.pipeline == returns
    assert [len(ids) for _, _, ids in rows_of(run).tables] == [1]


def test_no_run_computes_values_of_a_group(alices, orders, warehouse, table):
    run = keep(warehouse, orders, table, "r1", rowFrom="group")
    with pytest.raises(FlowError) as refused:
        ask(RunKind.FIX, choose_by_keys(alices, [f"{run}:r1-0"], ANN), column="id", expression="trim(id)")
    assert refused.value.code == "fix.of_group"


@pytest.mark.parametrize("kind", [RunKind.REPLAY, RunKind.RECHECK])
def test_a_pipeline_with_deduplicate_refuses_a_replay(as_, alices, orders, warehouse, table, kind):
    run = keep(warehouse, orders, table, "r1")
    document = json.loads(get_version(orders).document)
    document["nodes"][1]["ops"].append({"op": "deduplicate", "keys": ["tailnum"]})
    save_version(alices, json.dumps(document))
    chosen = choose_by_keys(alices, [f"{run}:r1-0"], ANN)
    with pytest.raises(FlowError) as refused:
        ask(kind, chosen)
    assert refused.value.code == "replay.deduplicates"
    assert not Run.objects.filter(kind=kind).exists()
    page = words(as_("editor").get(f"/w/alices-team/errors/selection/{chosen.pk}/"))
    assert "These rows cannot be replayed. 'shape' keeps one row of each tailnum." in page
    assert ask(RunKind.FIX, chosen, column="id", expression="trim(id)")
