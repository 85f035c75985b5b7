"""Runs with the real engine: a file, Spark, one transaction in PostgreSQL, and the stored results."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from executors.postgres.client import connect
from executors.spark import first_failing
from flowapp.alerts.models import Alert
from flowapp.pipelines.services import save_version
from flowapp.quarantine.counts import count_violations
from flowapp.quarantine.filter_options import known_rules
from flowapp.quarantine.selectors import EntryFilter, page_entries
from flowapp.runs.cli.run import ended
from flowapp.runs.dispatch import preview_inline, run_inline
from flowapp.runs.load_units.models import LoadUnit
from flowapp.runs.models import CommitRecord, State
from flowapp.runs.selectors import list_log, run_document, sum_loads
from flowapp.runs.step_table import list_step_rows
from flowapp.uploads.services import keep_upload
from tests.flowapp.reading import words
from tests.flowapp.together import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.usefixtures("sent")]


@pytest.fixture
def put_file(settings, tmp_path, connected):
    """Return a function that writes a file for the pipeline."""
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / connected.slug / "in"
    folder.mkdir(parents=True)
    return lambda name, text: (folder / name).write_text(text)


def test_a_file_is_loaded_once_and_again_only_on_request(pipeline, target, put_file, schema):
    put_file("a.csv", "id\n1\n2\n3\n")
    first = run_inline(pipeline)
    document = run_document(first)
    assert (document["state"], document["error"]) == ("succeeded", None)
    (load,) = [node for node in document["nodes"] if node["id"] == "load"]
    assert (load["rowsRead"], load["rowsLoaded"], load["rowsInserted"], load["rowsRejected"]) == (3, 3, 3, 0)
    assert target() == 3
    assert LoadUnit.objects.get().state == "committed"
    assert CommitRecord.objects.get().node == "load"
    assert first.step == ""
    table = f"{schema}.numbers"
    assert [line.message for line in list_log(first)] == [
        "To load: in/a.csv with 3 rows.",
        "Read 3 rows: 3 staged, 0 rejected.",
        f"Committed to {table}: 3 inserted, 0 updated, 0 unchanged.",
    ]
    rows = {step.label: step.rows for step in list_step_rows(first)}
    assert (rows["Scan the source"], rows["Read, validate and stage rows"], rows["Load"]) == (3, 3, 3)

    second = run_inline(pipeline)
    assert (second.state, second.nothing_new, target()) == (State.SUCCEEDED, True, 3)

    put_file("copy.csv", "id\n1\n2\n3\n")
    third = run_inline(pipeline)
    assert (third.nothing_new, target()) == (True, 3)

    again = run_inline(pipeline, load_again="The table was emptied.")
    assert again.state in (State.SUCCEEDED, State.SUCCEEDED_WITH_WARNINGS)
    assert target() == 6
    assert list_log(second).exists()


def test_new_bytes_under_an_old_name_are_loaded_and_old_bytes_under_a_new_name_skipped_with_the_reason(
    as_, pipeline, target, put_file
):
    put_file("a.csv", "id\n1\n2\n")
    run_inline(pipeline)
    put_file("a.csv", "id\n3\n")
    put_file("copy.csv", "id\n1\n2\n")
    put_file("empty.csv", "")
    run = run_inline(pipeline)

    assert (run.state, target()) == (State.SUCCEEDED_WITH_WARNINGS, 3)
    assert [warning["code"] for warning in run_document(run)["warnings"]] == ["source.blank"]
    assert sorted(LoadUnit.objects.values_list("name", "state", "rows")) == [
        ("in/a.csv", "committed", 1),
        ("in/a.csv", "committed", 2),
        ("in/copy.csv", "skipped", None),
        ("in/empty.csv", "committed", 0),
    ]
    skipped = LoadUnit.objects.get(state="skipped")
    assert skipped.reason == "The same content was already loaded."
    assert skipped.reason in words(as_("viewer").get(f"/w/{run.workspace.slug}/files/{skipped.pk}/"))


def test_a_missing_file_that_raises_an_alert_ends_with_a_warning_everywhere(as_, save, document, target, put_file):
    nodes = document()["nodes"]
    nodes[0]["config"]["waitPolicy"] = {"onMissAction": "alert"}
    pipeline = save(nodes=nodes).pipeline
    run = run_inline(pipeline)

    (warning,) = run_document(run)["warnings"]
    assert (run.state, warning["code"], warning["node"]) == (State.SUCCEEDED_WITH_WARNINGS, "source.missed", "files")
    assert Alert.objects.get().kind == "source.missed"
    answer = as_("viewer").get(f"/w/{run.workspace.slug}/runs/{run.pk}/")
    assert "Succeeded with warnings" in words(answer)
    assert "No file was found." in words(answer)
    answer = as_("viewer").get(f"/api/runs/{run.pk}/", headers={"X-Flow-Workspace": run.workspace.slug})
    assert answer.json()["state"] == "succeeded_with_warnings"
    assert ended(run).status == 0


def test_an_uploaded_file_is_loaded_without_waiting_for_it_to_settle(save, document, target, put_file):
    nodes = document()["nodes"]
    nodes[0]["config"]["waitPolicy"] = {"settleSeconds": 3600}
    pipeline = save(nodes=nodes).pipeline
    keep_upload(pipeline.workspace, "in", SimpleUploadedFile("a.csv", b"id\n1\n2\n"))
    run = run_inline(pipeline)
    assert (run.state, target()) == (State.SUCCEEDED, 2)
    assert not list_log(run).filter(message__contains="growing").exists()


def test_a_failed_load_leaves_nothing_and_says_why(pipeline, target, put_file):
    put_file("a.csv", "id\n1\nx\n")
    run = run_inline(pipeline)
    error = run_document(run)["error"]
    assert run.state == State.FAILED
    assert error["node"] == "files"
    assert error["code"]
    assert target() == 0
    assert LoadUnit.objects.get().state == "failed"


def test_a_file_that_the_target_has_no_column_for_waits_for_the_next_run(pipeline, target, put_file):
    put_file("a.csv", "id,extra\n1,x\n")
    run = run_inline(pipeline)
    assert (run.state, run.error_code) == (State.FAILED, "target.column_unknown")
    unit = LoadUnit.objects.get()
    assert (unit.state, unit.reason) == ("pending", run.error_message)


def test_no_file_fails_the_run(pipeline, target, put_file):
    run = run_inline(pipeline)
    assert (run.state, run.error_code) == (State.FAILED, "source.no_files")
    assert sum_loads([run]) == {run.pk: {"loaded": None, "rejected": None}}


def test_a_run_that_fails_after_its_rows_were_validated_reports_its_numbers(connected, document, target, put_file):
    put_file("a.csv", "id\n1\n2\n")
    nodes = document()["nodes"]
    nodes[1]["preHook"] = {"type": "sql", "statement": "ANALYZE nowhere.at_all"}
    run = run_inline(save_version(connected, json.dumps(document(nodes=nodes)), role="admin").pipeline)
    assert (run.state, target()) == (State.FAILED, 0)
    assert sum_loads([run]) == {run.pk: {"loaded": None, "rejected": 0}}


def test_the_row_that_an_expression_failed_for_is_the_same_number_everywhere(
    save, document, schema, target, put_file, monkeypatch
):
    monkeypatch.setattr(first_failing, "SECONDS", 600)
    put_file("a.csv", "id\n1\n0\n0\n")
    source, load = document()["nodes"]
    shape = {
        "id": "shape",
        "kind": "transform",
        "inputs": ["files"],
        "ops": [{"op": "derive", "columns": {"id": "cast(1 / id as int)"}}],
    }
    named = {"type": "notNull", "field": "id", "onFail": "skip"}
    check = {
        "id": "check",
        "kind": "validate",
        "inputs": ["shape"],
        "rowLevel": [named],
        "quarantine": {"enabled": True, "table": f"{schema}.rejected"},
    }
    pipeline = save(nodes=[source, shape, check, {**load, "inputs": ["check"]}]).pipeline
    run = run_inline(pipeline)
    reported = run_document(run)
    assert (reported["state"], reported["error"]["code"], target()) == ("failed", "expression.failed", 0)
    assert [(rule["rule"], rule["violations"]) for rule in reported["rules"]] == [("expression:id", 1)]
    assert reported["quarantine"]["rows"] == 1
    assert sum_loads([run])[run.pk]["rejected"] == 1
    assert [group["violations"] for group in count_violations(run.workspace, "pipeline", days=1)] == [1]
    assert len(page_entries(run.workspace, run=run, rule="expression:id").entries) == 1
    assert [known.rule for known in known_rules(run.workspace, EntryFilter(run=run))] == ["expression:id"]


def test_a_preview_of_the_real_engine_reports_what_the_run_then_does(pipeline, target, put_file):
    put_file("a.csv", "id\n1\n2\n")
    preview = run_document(preview_inline(pipeline))
    assert (preview["state"], target()) == ("succeeded", 0)
    assert not LoadUnit.objects.exists()
    assert not CommitRecord.objects.exists()
    run = run_document(run_inline(pipeline))
    assert target() == preview["effects"][0]["rowsAfter"] == 2
    counts = [{k: v for k, v in node.items() if k != "durationMs"} for d in (preview, run) for node in d["nodes"]]
    assert counts[:2] == counts[2:]


def test_a_query_of_a_database_is_read_again_by_every_run(save, document, target, schema):
    nodes = document()["nodes"]
    query = "select g as id from pg_catalog.generate_series(1, 3) as g"
    nodes[0] = {
        "id": "numbers",
        "kind": "source",
        "connector": "postgres",
        "connection": "warehouse",
        "config": {"query": query},
    }
    nodes[1] |= {"inputs": ["numbers"], "loadMode": "truncate"}
    pipeline = save(nodes=nodes).pipeline
    for _ in range(2):
        run = run_inline(pipeline)
        assert (run.state, run.nothing_new, target()) == (State.SUCCEEDED, False, 3)
    assert CommitRecord.objects.count() == 2
    assert not LoadUnit.objects.exists()


def test_of_two_runs_of_one_pipeline_at_once_one_loads_and_the_other_finds_nothing_new(pipeline, target, put_file):
    put_file("a.csv", "id\n1\n2\n3\n")
    runs = at_once(*[lambda: run_inline(pipeline, if_busy="wait")] * 2)
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2
    assert sorted(run.nothing_new for run in runs) == [False, True]
    assert (target(), CommitRecord.objects.count()) == (3, 1)


def test_two_pipelines_into_one_table_at_once_both_load(save, target, put_file):
    put_file("a.csv", "id\n1\n2\n3\n")
    pipelines = [save(slug).pipeline for slug in ("one", "two")]
    runs = at_once(*[lambda pipeline=pipeline: run_inline(pipeline) for pipeline in pipelines])
    assert [run.state for run in runs] == [State.SUCCEEDED] * 2
    assert [run.nothing_new for run in runs] == [False] * 2
    assert (target(), CommitRecord.objects.count()) == (6, 2)


def test_an_error_in_a_source_view_is_named_and_its_text_is_shown_only_to_roles_that_see_values(
    as_, save, document, target, schema, warehouse
):
    with connect(warehouse, autocommit=True) as conn:
        conn.execute(
            f"CREATE FUNCTION {schema}.check_stock(n integer) RETURNS integer LANGUAGE plpgsql STABLE AS"
            " $$ BEGIN RAISE EXCEPTION 'item 12345 is missing'; END $$"
        )
        conn.execute(f"CREATE VIEW {schema}.stock AS SELECT {schema}.check_stock(1) AS id")
    nodes = document()["nodes"]
    table = {"table": {"schema": schema, "name": "stock"}}
    nodes[0] = {"id": "numbers", "kind": "source", "connector": "postgres", "connection": "warehouse", "config": table}
    nodes[1]["inputs"] = ["numbers"]
    run = run_inline(save(nodes=nodes).pipeline)

    assert (run.state, run.error_code, run.error_node) == (State.FAILED, "source.function_failed", "numbers")
    assert f"{schema}.check_stock(integer), SQLSTATE P0001" in run.error_message
    assert "12345" not in run.error_message + run.error_hint + run.error_detail
    page, api = f"/w/{run.workspace.slug}/runs/{run.pk}/", f"/api/runs/{run.pk}/"
    here = {"X-Flow-Workspace": run.workspace.slug}
    assert "item 12345 is missing" in words(as_("editor").get(page))
    assert "12345" not in words(as_("viewer").get(page))
    assert as_("editor").get(api, headers=here).json()["error"]["detail"] == "item 12345 is missing"
    assert "detail" not in as_("viewer").get(api, headers=here).json()["error"]
