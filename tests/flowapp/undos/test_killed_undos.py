"""Workers killed between the commit that undoes a file in the target and the end of the run in the control database."""

from __future__ import annotations

import pytest

from flowapp.runs.dispatch import execute_claimed
from flowapp.runs.leases import claim_run
from flowapp.runs.load_units.models import LoadUnit, UnitState
from flowapp.runs.models import Run, State, Trigger
from flowapp.undos.services import undo_file
from tests.flowapp.runs.kill_points import KillPoints
from tests.flowapp.runs.killed_run import KilledRun
from tests.flowapp.undos.loaded_file import conn, count_rows, loaded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent")]
__all__ = ["conn", "count_rows", "loaded"]
CHANGES = (
    "runs_commitrecord",
    "runs_runlog",
    "runs_noderun",
    "runs_run",
    "runs_loadunit runs_unitrun",
    "runs_run",
    "runs_noderun runs_rulecount runs_loadunit runs_unitrun",
)
"""What is changed after the commit, in order: the names of `KillPoints`."""


@pytest.fixture
def killed(loaded, warehouse, process_environment) -> KilledRun:
    run = undo_file(loaded, "Wrong file.", 3, Trigger.MANUAL, send=False)
    return KilledRun(run, warehouse, process_environment)


def assert_undone(run: Run, rows: int) -> None:
    assert (run.state, run.lease_owner, run.lease_until, rows) == (State.SUCCEEDED, "", None, 0)
    unit = LoadUnit.objects.get()
    assert (unit.state, unit.reason, unit.run_id) == (UnitState.UNDONE, "Wrong file.", run.pk)
    assert run.commits.get().rows_loaded == 0


def test_all_changes_after_an_undo_are_known(killed, count_rows, settings):
    with KillPoints(settings.FILES_ROOT).observed() as points:
        execute_claimed(claim_run(killed.run.pk, "worker"))
    assert points.names == list(CHANGES), "a change is new: add it to the list, so that it is tested"
    killed.run.refresh_from_db()
    assert_undone(killed.run, count_rows())


@pytest.mark.slow
@pytest.mark.parametrize("point", [pytest.param(i, id=f"{i} {name}") for i, name in enumerate(CHANGES)])
def test_an_undo_whose_worker_was_killed_is_finished_once(killed, count_rows, point):
    killed.kill(point)
    assert_undone(killed.finish(), count_rows())
    assert (killed.run.attempt, killed.run.losses) == (2, 1)
