"""`flow files`."""

from __future__ import annotations

import pytest

from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import Run, State
from tests.flowapp.runs.conftest import sent
from tests.flowapp.undos.loaded_file import conn, count_rows, loaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]
__all__ = ["conn", "count_rows", "loaded", "sent"]


@pytest.fixture(autouse=True)
def _at_alices(settings):
    settings.FLOW_WORKSPACE = "alices-team"


def test_files_are_listed(flow, loaded):
    (listed,) = flow("files", "list", "--pipeline", "numbers", "--state", "committed", "--json").json["files"]
    assert (listed["id"], listed["name"], listed["rows"]) == (str(loaded.pk), "in/a.csv", 3)
    assert "in/a.csv" in flow("files", "list").stdout
    assert flow("files", "list", "--state", "failed", "--json").json == {"files": []}
    assert flow("files", "list", "--state", "lost").status == 1


def test_the_rows_of_a_file_are_counted_and_deleted_only_with_a_reason(flow, loaded, count_rows, schema):
    shown = flow("files", "undo", str(loaded.pk))
    assert (shown.status, count_rows()) == (0, 3)
    assert f"Deletes 3 rows from {schema}.numbers." in shown.stdout

    refused = flow("files", "undo", str(loaded.pk), "--reason", "Wrong file.", "--rows", "4")
    assert (refused.status, count_rows()) == (1, 3)

    undone = flow("files", "undo", str(loaded.pk), "--reason", "Wrong file.", "--rows", "3", "--json")
    assert (undone.status, undone.json["state"], count_rows()) == (0, "succeeded", 0)
    assert LoadUnit.objects.get().state == UnitState.UNDONE


def test_an_undo_may_be_left_to_a_worker(flow, loaded, count_rows):
    asked = flow("files", "undo", str(loaded.pk), "--reason", "Wrong file.", "--detach", "--json")
    assert (asked.status, Run.objects.get(pk=asked.json["run"]).state, count_rows()) == (0, State.QUEUED, 3)


def test_what_is_no_file_is_refused(flow, workspace):
    assert flow("files", "undo", "nope").status == 1
