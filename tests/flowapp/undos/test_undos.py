"""Undoing a file in the control plane: the preview, the run of its own, and the file's state afterwards."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from executors.errors import Terminal
from executors.runs.undo import undo_file as undo_engine
from flowapp.pipelines.services import save_version
from flowapp.runs.dispatch import run_inline, run_to_end
from flowapp.runs.load_units.models import LoadUnit, UnitRun, UnitState
from flowapp.runs.load_units.selectors import is_to_be_loaded_again
from flowapp.runs.load_units.services import fail_units, load_file_again, skip_unit
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.selectors import run_document
from flowapp.undos.services import preview, undo_file, undo_inline
from ir.errors import FlowError
from tests.flowapp.reading import words
from tests.flowapp.undos.loaded_file import SHA, conn, count_rows, loaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]
__all__ = ["conn", "count_rows", "loaded"]
HEADERS = {"X-Flow-Workspace": "alices-team"}


def undo(unit: LoadUnit, rows: int = 3, engine=None) -> Run:
    return run_to_end(undo_file(unit, "Wrong file.", rows, Trigger.MANUAL, send=False), engine)


def page_of(unit: LoadUnit) -> str:
    return f"/w/alices-team/files/{unit.pk}/"


def test_the_rows_are_counted_first_and_then_deleted_by_a_run_of_its_own(loaded, count_rows):
    assert preview(loaded).rows_of_nodes == {"load": 3}
    assert count_rows() == 3

    run = undo(loaded)

    assert (run.state, run.kind, run.number, count_rows()) == (State.SUCCEEDED, "undo", 2, 0)
    loaded.refresh_from_db()
    assert (loaded.state, loaded.reason, loaded.run_id) == (UnitState.UNDONE, "Wrong file.", run.pk)
    assert sorted(UnitRun.objects.values_list("state", "reason")) == [("committed", ""), ("undone", "Wrong file.")]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"state": UnitState.PROCESSING}, "undo.busy"),
        ({"state": UnitState.UNDONE}, "undo.done"),
        ({"sha256": "b" * 64}, "undo.not_loaded"),
    ],
)
def test_a_file_that_cannot_be_undone_says_why(loaded, change, code):
    LoadUnit.objects.update(**change)
    loaded.refresh_from_db()
    with pytest.raises(FlowError) as refused:
        preview(loaded)
    assert (refused.value.code, bool(refused.value.hint)) == (code, True)


@pytest.mark.parametrize(("reason", "rows", "code"), [(" ", 3, "reason.required"), ("x", 2, "undo.rows_changed")])
def test_an_undo_needs_a_reason_and_the_number_of_rows(loaded, reason, rows, code):
    with pytest.raises(FlowError) as refused:
        undo_file(loaded, reason, rows, Trigger.MANUAL, send=False)
    assert refused.value.code == code
    assert Run.objects.count() == 1


def test_one_undo_of_a_file_runs_at_a_time(loaded):
    undo_file(loaded, "Wrong file.", 3, Trigger.MANUAL, send=False)
    with pytest.raises(FlowError, match=r"undo\.busy"):
        undo_file(loaded, "Wrong file.", 3, Trigger.MANUAL, send=False)


def test_two_targets_of_one_table_undo_the_file_once(loaded, pipeline, count_rows):
    document = json.loads(loaded.run.document)
    document["nodes"].append({**document["nodes"][-1], "id": "a"})
    save_version(pipeline.workspace, json.dumps(document))
    assert (preview(loaded).rows, preview(loaded).rows_of_nodes) == (3, {"load": 3, "a": 0})
    run = undo(loaded)
    loaded.refresh_from_db()
    assert (run.error_code, loaded.state, count_rows()) == ("", UnitState.UNDONE, 0)
    assert sorted(run.commits.values_list("node", flat=True)) == ["a", "load"]


def test_rows_that_change_between_the_request_and_the_run_are_not_deleted(loaded, conn, schema, count_rows):
    run = undo_file(loaded, "Wrong file.", 3, Trigger.MANUAL, send=False)
    conn.execute(f'DELETE FROM "{schema}".numbers WHERE id = 1')
    assert run_to_end(run).error_code == "undo.rows_changed"
    loaded.refresh_from_db()
    assert (loaded.state, count_rows()) == (UnitState.COMMITTED, 2)


def test_a_file_in_a_table_that_is_no_longer_a_target_is_not_undone(loaded, pipeline, schema, conn):
    document = json.loads(loaded.run.document)
    document["nodes"][-1]["table"] = "others"
    save_version(pipeline.workspace, json.dumps(document))
    with pytest.raises(FlowError, match="no longer loads") as refused:
        undo_file(loaded, "Wrong file.", 0, Trigger.MANUAL, send=False)
    assert (refused.value.code, f"{schema}.numbers" in refused.value.message) == ("undo.target_gone", True)
    conn.execute(f'DROP TABLE "{schema}".numbers')
    with pytest.raises(FlowError, match=r"undo\.not_loaded"):
        preview(loaded)


def test_a_duplicate_leads_to_the_file_that_was_loaded(loaded, count_rows):
    skip_unit(loaded.run, "files", replace_file("in/copy.csv"), SHA, "The same content was already loaded.")
    undo(LoadUnit.objects.get(name="in/copy.csv"))
    loaded.refresh_from_db()
    assert (loaded.state, count_rows()) == (UnitState.UNDONE, 0)


def replace_file(name: str):
    from executors.model import SourceFile

    return SourceFile(0, f"/{name}", name, 9, 1)


def test_an_undone_file_stays_undone_when_a_run_fails_or_skips_it(loaded):
    run = undo(loaded)
    fail_units(run, "files", {SHA: replace_file("in/a.csv")}, "Another file cannot be read.")
    skip_unit(run, "files", replace_file("in/a.csv"), SHA, "Undone.")
    assert list(LoadUnit.objects.values_list("state", flat=True)) == [UnitState.UNDONE]


def test_an_undo_cancels_a_request_to_load_again_and_a_later_request_counts(loaded):
    load_file_again(loaded, "Again.")
    assert preview(loaded).cancels_request
    undo(loaded)
    loaded.refresh_from_db()
    assert not is_to_be_loaded_again(loaded)
    assert is_to_be_loaded_again(load_file_again(loaded, "It was right."))


def test_a_run_that_cannot_note_the_file_is_finished_by_its_next_attempt(loaded, count_rows):
    class StuckUnits:
        def mark_deleted(self, hashes, reason):
            raise Terminal("files.stuck", "The states of files cannot be written.")

    run = undo(loaded, engine=lambda job, ports: undo_engine(job, replace(ports, units=StuckUnits())))
    loaded.refresh_from_db()
    assert (run.state, run.attempt, count_rows()) == (State.SUCCEEDED_WITH_WARNINGS, 2, 0)
    assert (loaded.state, loaded.reason) == (UnitState.UNDONE, "Wrong file.")


def test_the_page_shows_the_rows_asks_for_a_reason_and_editors_alone_may_undo(loaded, as_, schema):
    assert "Undo…" in words(as_("editor").get(page_of(loaded)))
    assert "Undo…" not in words(as_("viewer").get(page_of(loaded)))
    shown = words(as_("editor").get(f"{page_of(loaded)}undo/"))
    assert f"Deletes 3 rows from {schema}.numbers" in shown
    assert "These are the rows that numbers loaded from this file in run 1." in shown
    assert as_("viewer").post(f"{page_of(loaded)}undo/", {"reason": "No.", "rows": 3}).status_code == 403

    answer = as_("editor").post(f"{page_of(loaded)}undo/", {"reason": "Wrong file.", "rows": 3})

    run = Run.objects.get(kind="undo")
    assert answer.headers["Location"] == f"/w/alices-team/runs/{run.pk}/"
    assert "Deletes 3 rows of in/a.csv: Wrong file." in words(as_("viewer").get(answer.headers["Location"]))
    run_to_end(run)
    page = words(as_("editor").get(answer.headers["Location"]))
    assert "Undo: run 2 of" in page
    assert "Deleted 3 rows of in/a.csv: Wrong file." in page
    assert "do not add up" not in page
    assert "Undone" in words(as_("viewer").get("/w/alices-team/files/?state=undone"))


def test_the_page_says_why_a_file_cannot_be_undone(loaded, conn, schema, as_):
    conn.execute(f'ALTER TABLE "{schema}".numbers DROP COLUMN _flow_run')
    shown = words(as_("editor").get(f"{page_of(loaded)}undo/"))
    assert "This file cannot be undone" in shown
    assert "has no column _flow_run" in shown
    assert as_("editor").post(f"{page_of(loaded)}undo/", {"reason": "x", "rows": 3}).status_code == 409


def test_the_api_counts_and_undoes(loaded, as_):
    address, client = f"/api/files/{loaded.pk}/undo/", as_("editor")
    assert as_("viewer").get(address, headers=HEADERS).status_code == 403
    shown = client.get(address, headers=HEADERS).json()
    assert (shown["rows"], [target["rows"] for target in shown["targets"]]) == (3, [3])
    body = {"reason": "Wrong file.", "rows": 3}
    answer = client.post(address, body, headers=HEADERS, content_type="application/json")
    assert answer.status_code == 202
    assert Run.objects.get(pk=answer.json()["run"]).kind == "undo"
    again = client.post(address, body, headers=HEADERS, content_type="application/json")
    assert (again.status_code, again.json()["code"]) == (409, "undo.busy")


def test_without_a_worker_it_runs_in_this_process(loaded, count_rows):
    assert undo_inline(loaded, "Wrong file.", 3).state == State.SUCCEEDED
    assert count_rows() == 0


@pytest.mark.spark
def test_the_next_run_does_not_load_an_undone_file_until_a_user_requests_it(
    save, document, settings, tmp_path, connected, warehouse, schema
):
    from executors.postgres.client import connect

    settings.FILES_ROOT = tmp_path
    folder = tmp_path / connected.slug / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n2\n3\n")
    (folder / "b.csv").write_text("id\n1\n")
    pipeline = save().pipeline
    run_inline(pipeline)
    unit = LoadUnit.objects.get(name="in/a.csv")

    def ids() -> list[int]:
        with connect(warehouse, autocommit=True) as conn:
            return [row for (row,) in conn.execute(f'SELECT id FROM "{schema}".numbers ORDER BY 1')]

    assert preview(unit).targets[0].found.missing == 0
    run = undo(unit)
    assert (run_document(run)["error"], ids()) == (None, [1])

    idle = run_inline(pipeline)
    assert (idle.nothing_new, ids()) == (True, [1])
    assert "or was undone (1)" in idle.stored_report.nothing_new_reason
    unit.refresh_from_db()
    assert unit.state == UnitState.UNDONE

    load_file_again(unit, "It was right.")
    assert run_inline(pipeline).state == State.SUCCEEDED
    assert ids() == [1, 1, 2, 3]
    unit.refresh_from_db()
    assert (unit.state, LoadUnit.objects.count()) == (UnitState.COMMITTED, 2)
