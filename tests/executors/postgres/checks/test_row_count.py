"""`rowCount`."""

from __future__ import annotations

import pytest

from executors.postgres.checks import HANDLERS
from ir.checks import CHECKS, RowCount
from ir.not_yet import NOT_YET


@pytest.mark.parametrize(
    ("bounds", "message"),
    [({"min": 2, "max": 2}, None), ({"min": 3}, "2 rows, fewer than 3"), ({"max": 1}, "2 rows, more than 1")],
)
def test_the_rows_of_winning_tasks_count_whatever_they_hold(staged, checking, bounds, message):
    load = staged("c integer", [(1,), (None,)])
    report = checking.run(load, RowCount(on_fail="abort", **bounds))
    assert (report.ok, report.message, report.observed) == (message is None, message, 2)


def test_no_rows_are_zero(staged, checking):
    report = checking.run(staged("c integer", []), RowCount(min=1, on_fail="warn"))
    assert (report.ok, report.observed, report.on_fail) == (False, 0, "warn")


def test_every_check_that_runs_has_a_handler():
    assert set(HANDLERS) == {kind for kind in CHECKS if ("check", kind) not in NOT_YET}
