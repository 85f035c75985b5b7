"""The band of rows that a load is expected to have: half to twice the mean of the last four."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from flowapp.alerts.models import Alert, AlertState
from flowapp.pipelines.services import save_version
from flowapp.runs.dispatch import run_inline
from flowapp.runs.models import Run, State
from tests.flowapp.runs.table_engine import TableEngine

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("sent", "target")]


@pytest.fixture
def load(connected, document) -> Callable[[int], Run]:
    """Loads so many rows."""
    banded = document()
    banded["nodes"][-1]["expectedRowCountDelta"] = {"windowRuns": 4, "maxDecreasePct": 50, "maxIncreasePct": 100}
    pipeline = save_version(connected, json.dumps(banded)).pipeline
    return lambda rows: run_inline(pipeline, engine=TableEngine(rows=rows))


def open_alerts() -> list[Alert]:
    return list(Alert.objects.exclude(state=AlertState.RESOLVED))


@pytest.mark.parametrize("rows", [5, 20])
def test_a_load_at_the_edge_of_the_band_is_as_expected(load, rows):
    for _ in range(3):
        load(10)
    load(rows)
    assert open_alerts() == []


@pytest.mark.parametrize("rows", [4, 21])
def test_a_load_outside_the_band_warns_with_the_numbers_and_does_not_fail(load, rows):
    for _ in range(3):
        load(10)
    run = load(rows)
    assert (run.state, run.stored_report.warnings[0].code) == (State.SUCCEEDED_WITH_WARNINGS, "rows.out_of_band")
    (alert,) = open_alerts()
    assert (alert.kind, alert.severity, alert.node, alert.run_id) == ("rows.out_of_band", "warning", "load", run.pk)
    assert f"got {rows} rows; the last 3 loads had 10 on average, expected: at least 5 and at most 20" in alert.message


def test_two_loads_are_too_few_to_expect_anything(load):
    load(10)
    load(10)
    load(1000)
    assert open_alerts() == []


def test_only_the_last_loads_count(load):
    for rows in (1000, 10, 10, 10, 10, 10):
        load(rows)
    assert open_alerts() == []


def test_a_load_back_in_the_band_resolves_the_alert(load):
    for rows in (10, 10, 10, 1, 10):
        load(rows)
    assert open_alerts() == []
