"""The matrix of faults has a case for each step of a load."""

from __future__ import annotations

from executors.runs.kinds import STEPS
from tests.executors.faults.faulty_run import AFTER_COMMIT
from tests.executors.faults.hitting import WITHIN
from tests.executors.faults.test_matrix import CASES

NO_CASE = {
    "start": "no session is open yet",
    "quarantine": "no run reports it",
}


def test_each_step_of_a_load_is_stopped() -> None:
    stopped = {case.step for case in CASES} - {AFTER_COMMIT, *WITHIN}
    assert {step.name for step in STEPS["load"]} - set(NO_CASE) == stopped
