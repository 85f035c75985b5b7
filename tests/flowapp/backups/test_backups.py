"""Backups in the control plane: recorded after a load, restored by a run, dropped when they expire."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from executors.errors import Terminal
from executors.postgres.client import connect
from executors.runs.restore import restore_pipeline
from flowapp.alerts.models import Alert, AlertState
from flowapp.alerts.services import raise_alert
from flowapp.backups.models import Backup
from flowapp.backups.selectors import RETENTION_DAYS
from flowapp.backups.services import drop_old_backups, restore_backup
from flowapp.connections.fields import ConnectionFields
from flowapp.connections.services import add_connection
from flowapp.pipelines.deletion import delete_pipeline
from flowapp.pipelines.services import save_version
from flowapp.runs.dispatch import run_inline, run_to_end
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import Run, State, Trigger
from flowapp.runs.selectors import run_document
from ir.errors import FlowError
from tests.flowapp.reading import words

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]
PAGE = "/w/alices-team/backups/"


@pytest.fixture
def loaded(connected, document, target, settings, tmp_path) -> Run:
    """A run that has added three rows to an empty table, after a backup."""
    settings.FILES_ROOT = tmp_path
    folder = tmp_path / connected.slug / "in"
    folder.mkdir(parents=True)
    (folder / "a.csv").write_text("id\n1\n2\n3\n")
    with_backup = document()
    with_backup["nodes"][-1]["backupBeforeLoad"] = True
    run = run_inline(save_version(connected, json.dumps(with_backup)).pipeline)
    assert run_document(run)["error"] is None
    return run


@pytest.fixture
def backup(loaded: Run) -> Backup:
    return Backup.objects.get()


def test_a_load_with_a_backup_is_recorded(loaded, backup):
    assert (backup.run_id, backup.node, backup.rows, backup.connection) == (loaded.pk, "load", 0, "warehouse")


def test_a_restore_is_a_run_of_its_own_after_which_the_file_loads_again(backup, target):
    run = run_to_end(restore_backup(backup, "The file was wrong.", Trigger.MANUAL, send=False))
    assert (run.state, target()) == (State.SUCCEEDED, 0)
    (node,) = run_document(run)["nodes"]
    assert (node["rowsRead"], node["rowsLoaded"]) == (0, 0)
    unit = LoadUnit.objects.get()
    assert (unit.state, unit.reason) == (UnitState.PENDING, "A backup was restored; the next run loads it again.")

    assert run_inline(run.pipeline).state == State.SUCCEEDED
    assert target() == 3


def test_a_restore_resolves_no_alert_of_a_pipeline_that_failed(backup):
    raise_alert("run.failed", "error", "The load failed.", "Look at the run.", pipeline=backup.pipeline, run=backup.run)
    run = run_to_end(restore_backup(backup, "The file was wrong.", Trigger.MANUAL, send=False))
    assert run.state == State.SUCCEEDED
    assert Alert.objects.get(kind="run.failed").state == AlertState.OPEN


def test_a_restore_waits_for_the_runs_of_its_pipeline(backup):
    run = restore_backup(backup, "The file was wrong.", Trigger.MANUAL, send=False)
    with pytest.raises(FlowError, match=r"run\.busy"):
        run_inline(run.pipeline)


def test_a_restore_needs_a_reason(backup):
    with pytest.raises(FlowError, match=r"reason\.required"):
        restore_backup(backup, " ", Trigger.MANUAL)


def test_old_backups_are_dropped_in_the_target_and_can_no_longer_be_restored(backup, warehouse):
    assert drop_old_backups() == 0
    Backup.objects.update(taken_at=timezone.now() - timedelta(days=RETENTION_DAYS, minutes=1))
    assert drop_old_backups() == 1
    with connect(warehouse) as conn:
        found = conn.execute("SELECT count(*) FROM flow_meta.backups WHERE run_id = %s", [str(backup.run_id)])
        assert found.fetchone() == (0,)
    backup.refresh_from_db()
    with pytest.raises(FlowError, match=r"backup\.gone"):
        restore_backup(backup, "The file was wrong.", Trigger.MANUAL)


def test_backups_go_with_their_pipeline(backup, warehouse):
    delete_pipeline(backup.pipeline)
    with connect(warehouse) as conn:
        found = conn.execute("SELECT count(*) FROM flow_meta.backups WHERE run_id = %s", [str(backup.run_id)])
        assert found.fetchone() == (0,)


def test_an_old_backup_behind_a_connection_that_is_gone_is_tried_again_later(backup):
    Backup.objects.update(taken_at=timezone.now() - timedelta(days=30), connection="gone")
    assert drop_old_backups() == 0
    assert Backup.objects.get().dropped_at is None


def test_the_page_lists_backups_and_only_editors_can_restore_them(backup, as_):
    text = words(as_("viewer").get(PAGE))
    assert f"{backup} 0 run 1 of numbers" in text
    assert "Restore" not in text.replace("Restored", "")
    assert "Hooks do not run." in words(as_("editor").get(PAGE))
    answer = as_("editor").post(f"{PAGE}{backup.pk}/restore/", {"reason": "The file was wrong."})
    run = Run.objects.get(kind="restore")
    assert answer.headers["Location"] == f"/w/alices-team/runs/{run.pk}/"
    page = words(as_("viewer").get(answer.headers["Location"]))
    assert "to its state before run 1: The file was wrong." in page
    assert as_("viewer").post(f"{PAGE}{backup.pk}/restore/", {"reason": "No."}).status_code == 403


def test_the_page_of_a_run_links_to_its_backup(loaded, backup, as_):
    assert f"Backups {backup}, 0 rows" in words(as_("viewer").get(f"/w/alices-team/runs/{loaded.pk}/"))


def test_the_page_of_a_restore_reports_of_no_node_that_it_does_not_run(backup, as_):
    run = run_to_end(restore_backup(backup, "The file was wrong.", Trigger.MANUAL, send=False))
    page = words(as_("editor").get(f"/w/alices-team/runs/{run.pk}/"))
    assert "Restore: run 2 of" in page
    assert "did not finish" not in page
    assert "Run the pipeline" in page


def test_without_backups_the_page_says_how_to_get_one(workspace, as_):
    assert "Back up before each load" in words(as_("viewer").get(PAGE))


def test_the_api_lists_and_restores(backup, as_):
    client = as_("editor")
    headers = {"X-Flow-Workspace": "alices-team"}
    (listed,) = client.get("/api/backups/", headers=headers).json()["results"]
    assert (listed["id"], listed["rows"], listed["pipeline"]) == (str(backup.pk), 0, "numbers")
    answer = client.post(
        f"/api/backups/{backup.pk}/restore/",
        {"reason": "The file was wrong."},
        headers=headers,
        content_type="application/json",
    )
    assert answer.status_code == 202
    assert Run.objects.get(pk=answer.json()["run"]).kind == "restore"


def test_a_restore_that_cannot_be_finished_leaves_no_file_as_loaded_that_it_took_back(backup, target):
    class StuckUnits:
        def __init__(self, units):
            self.__dict__["forgotten"] = units.forgotten

        def undo(self, hashes, reason):
            raise Terminal("files.stuck", "The states of files cannot be written.")

    def engine(job, ports):
        return restore_pipeline(job, replace(ports, units=StuckUnits(ports.units)))

    run = run_to_end(restore_backup(backup, "The file was wrong.", Trigger.MANUAL, send=False), engine)
    assert (run.state, run.attempt, target()) == (State.SUCCEEDED_WITH_WARNINGS, 2, 0)
    unit = LoadUnit.objects.get()
    assert (unit.state, unit.reason) == (UnitState.PENDING, "A backup was restored; the next run loads it again.")


def test_a_target_on_another_connection_is_reported_and_not_taken_for_an_older_state(
    backup, document, connected, warehouse
):
    fields = ConnectionFields(
        "postgres", warehouse.host, warehouse.port, warehouse.database, warehouse.user, warehouse.password
    )
    add_connection(connected, "elsewhere", fields)
    moved = document()
    moved["nodes"][-1] |= {"connection": "elsewhere", "backupBeforeLoad": True}
    save_version(connected, json.dumps(moved))
    runs = Run.objects.count()

    with pytest.raises(FlowError, match="lies behind connection warehouse") as refused:
        restore_backup(backup, "The file was wrong.", Trigger.MANUAL)

    assert refused.value.code == "backup.other_connection"
    assert Run.objects.count() == runs
