"""`flow schema`: the log of changes of columns, and decisions about them."""

from __future__ import annotations

import pytest

from tests.flowapp.cli.test_watermark import following
from tests.flowapp.schema_changes.conftest import ADD, refusal
from tests.flowapp.watermarks.conftest import sql

pytestmark = pytest.mark.django_db
__all__ = ["following", "sql"]


@pytest.fixture
def found(flow, following):
    """A change that a run of `numbers` has found."""
    from flowapp.pipelines.models import Pipeline
    from flowapp.runs.models import Trigger
    from flowapp.runs.services import queue_run
    from flowapp.schema_changes.services import note_refused

    run = queue_run(Pipeline.objects.get(slug="numbers"), Trigger.CLI, send=False)
    note_refused(run, refusal(ADD))


def test_the_log_shows_a_change_and_accept_lets_the_next_run_apply_it(flow, found):
    shown = flow("schema", "log", "numbers")
    assert "pending" in shown.stdout
    assert "'extra'" in shown.stdout
    accepted = flow("schema", "accept", "numbers", "--reason", "agreed")
    assert (accepted.status, "Accepted: Column 'extra' (text) is new." in accepted.stdout) == (0, True)
    (change,) = flow("schema", "log", "numbers", "--json").json["changes"]
    assert (change["state"], change["decidedBy"], change["reason"]) == ("accepted", "command line", "agreed")
    assert "no change that waits" in flow("schema", "accept", "numbers").stdout


def test_a_change_is_rejected_by_the_id_that_the_log_prints(flow, found):
    (change,) = flow("schema", "log", "numbers", "--json").json["changes"]
    assert flow("schema", "reject", "numbers", "nothing", "--reason", "x").status == 1
    rejected = flow("schema", "reject", "numbers", change["id"][:8], "--reason", "wrong file")
    assert (rejected.status, "Rejected: " in rejected.stdout) == (0, True)
