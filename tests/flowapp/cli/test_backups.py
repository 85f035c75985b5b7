"""`flow backups`."""

from __future__ import annotations

import pytest

from flowapp.runs.models import Run, State
from tests.flowapp.backups.test_backups import backup, loaded
from tests.flowapp.runs.conftest import sent, target

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.spark, pytest.mark.usefixtures("sent")]
__all__ = ["backup", "loaded", "sent", "target"]


@pytest.fixture(autouse=True)
def _at_alices(settings):
    settings.FLOW_WORKSPACE = "alices-team"


def test_without_backups_the_list_says_why(flow, workspace):
    listed = flow("backups", "list")
    assert (listed.status, "backupBeforeLoad" in listed.stdout) == (0, True)
    assert flow("backups", "list", "--json").json == {"backups": []}


def test_backups_are_listed_with_the_run_that_they_were_taken_before(flow, loaded, backup, schema):
    (reported,) = flow("backups", "list", "--pipeline", "numbers", "--json").json["backups"]
    assert (reported["id"], reported["run"], reported["rows"], reported["restores"]) == (
        str(backup.pk),
        str(loaded.pk),
        0,
        [],
    )
    shown = flow("backups", "list", "--run", str(loaded.pk)).stdout
    assert str(backup.pk) in shown
    assert f"{schema}.numbers" in shown


def test_a_backup_is_restored_right_here_and_needs_a_reason(flow, backup, target):
    assert flow("backups", "restore", str(backup.pk)).status == 64
    restored = flow("backups", "restore", str(backup.pk), "--reason", "The file was wrong.", "--json")
    assert (restored.status, restored.json["state"], target()) == (0, "succeeded", 0)
    assert "succeeded" in flow("backups", "list").stdout
    assert "restore" in flow("runs", "list").stdout


def test_a_restore_may_be_left_to_a_worker(flow, backup, target):
    asked = flow("backups", "restore", str(backup.pk), "--reason", "The file was wrong.", "--detach", "--json")
    assert (asked.status, Run.objects.get(pk=asked.json["run"]).state, target()) == (0, State.QUEUED, 3)


def test_what_is_no_backup_is_refused(flow, workspace):
    assert flow("backups", "restore", "nope", "--reason", "x").status == 1
