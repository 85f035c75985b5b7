"""Dataset checks in runs: the observed values, the effects of a failed check, and what a failed check does not
change."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from executors.errors import Cancelled, Terminal
from tests.executors.conformance.world import FORMATS, World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

COLUMNS = [
    {"name": "id", "type": "integer"},
    {"name": "price", "type": "decimal(10,2)"},
    {"name": "changed", "type": "timestamp"},
]


def rows(*days: int) -> list[dict[str, Any]]:
    """Return rows that were changed the given number of days ago."""
    now = datetime.now(UTC).replace(tzinfo=None)
    return [
        {
            "id": number,
            "name": "a" if number % 2 else None,
            "price": f"{number}.10",
            "changed": str(now - timedelta(days=day)),
        }
        for number, day in enumerate(days, start=1)
    ]


def every(on_fail: str, schema: str) -> dict[str, Any]:
    """Checks of all kinds. Those that fail for `rows(2, 3, 4)` have a bound that is missed by the smallest step."""
    found = {
        "rowCount": {"min": 4},
        "freshness": {"column": "changed", "withinHours": 47},
        "fkIntegrity": {"column": "id", "refTable": f"{schema}.known", "refColumn": "id"},
        "cardinality": {"column": "name", "minDistinct": 2},
        "duplicateKey": {"columns": ["name"]},
        "unique": {"column": "name"},
        "sum": {"column": "price", "max": "6.29"},
        "mean": {"column": "price", "max": "2.09"},
        "distinctRatio": {"column": "name", "min": 0.51},
        "nullRate": {"column": "name", "max": 0.33},
        "schemaMatch": {"columns": {"id": "integer"}},
        "customSql": {"query": "SELECT id FROM input WHERE name IS NULL"},
    }
    return {kind: {**check, "onFail": on_fail} for kind, check in found.items()}


@pytest.fixture
def ready(world: World) -> World:
    world.sql("create table t (id int, name text, price numeric(10,2), changed timestamp)")
    world.sql("create table known (id int)")
    world.sql("insert into known values (1), (2)")
    world.write("a.csv", FORMATS["csv"](rows(2, 3, 4)))
    return world


def test_every_check_that_does_not_hold_warns_and_the_rows_are_loaded(ready: World) -> None:
    report = ready.run(ready.document(columns=COLUMNS, checks=every("warn", ready.schema)))
    found = {check.check: (check.ok, check.observed) for check in report.checks}
    assert found == {
        "rowCount": (False, 3),
        "freshness": (False, 48.0),
        "fkIntegrity": (False, 1),
        "cardinality": (False, 1),
        "duplicateKey": (False, 2),
        "unique": (False, 2),
        "sum": (False, 6.3),
        "mean": (False, 2.1),
        "distinctRatio": (False, 0.5),
        "nullRate": (False, 0.333333),
        "schemaMatch": (False, 3),
        "customSql": (False, 1),
    }
    reported = [w.message for w in report.warnings if w.code == "check.failed"]
    assert reported == [f"{check.check}: {check.message}" for check in report.checks]
    assert (target_of(report).rows_loaded, reconciles(report)) == (3, True)


def test_checks_that_hold_say_nothing(ready: World) -> None:
    checks = {
        "freshness": {"column": "changed", "withinHours": 49, "onFail": "abort"},
        "unique": {"column": "id", "onFail": "abort"},
    }
    report = ready.run(ready.document(columns=COLUMNS, checks=checks))
    assert [(check.ok, check.message) for check in report.checks] == [(True, None)] * 2
    assert report.warnings == []


def test_a_check_that_aborts_leaves_the_table_as_it_was_and_reports_all(ready: World) -> None:
    with pytest.raises(Terminal) as stopped:
        ready.run(ready.document(columns=COLUMNS, checks=every("abort", ready.schema)))
    assert (stopped.value.code, stopped.value.node) == ("check.abort", "check")
    assert stopped.value.message.startswith("rowCount: 3 rows, fewer than 4; freshness: ")
    assert ready.rows() == []


def test_rows_of_the_future_are_a_warning_of_a_check_that_holds(ready: World) -> None:
    ready.write("b.csv", FORMATS["csv"](rows(0, -3)))
    checks = {"freshness": {"column": "changed", "withinHours": 1, "onFail": "abort"}}
    report = ready.run(ready.document(columns=COLUMNS, checks=checks))
    assert [w.message for w in report.warnings] == ["freshness: 1 row with 'changed' in the future"]
    assert target_of(report).rows_loaded == 5


def test_a_key_that_the_table_holds_is_found_when_rows_are_added(ready: World) -> None:
    document = ready.document(columns=COLUMNS, checks={"unique": {"column": "id", "onFail": "abort"}})
    ready.run(document)
    ready.write("b.csv", FORMATS["csv"](rows(1)))
    with pytest.raises(Terminal, match=r"1 row with values of id that already exist in .*t"):
        ready.run(document)
    assert len(ready.rows()) == 3


def test_what_cannot_run_stops_the_run_before_the_source_is_read(ready: World) -> None:
    checks = {"customSql": {"query": "SELECT nothing FROM input", "onFail": "warn"}}
    with pytest.raises(Terminal, match="nothing") as stopped:
        ready.run(ready.document(columns=COLUMNS, checks=checks))
    assert (stopped.value.code, stopped.value.node) == ("check.query_failed", "check")
    assert "pass" not in [step for step, _ in ready.memory.steps]


def test_a_run_that_is_cancelled_ends_its_query_within_seconds(ready: World) -> None:
    def cancel() -> None:
        ready.memory.stop = Cancelled("run.cancelled", "enough")
        assert ready.memory.interrupt
        ready.memory.interrupt()

    def on_step(step: str, node: str | None) -> None:
        if step == "check":
            threading.Timer(1, cancel).start()

    ready.memory.on_step = on_step
    slow = "SELECT 1 FROM generate_series(1, 100000) AS a, generate_series(1, 100000) AS b WHERE a + b < 0"
    started = time.monotonic()
    with pytest.raises(Cancelled):
        ready.run(ready.document(columns=COLUMNS, checks={"customSql": {"query": slow, "onFail": "warn"}}))
    assert time.monotonic() - started < 30
    assert ready.rows() == []


def test_a_preview_checks_without_a_table(world: World) -> None:
    world.write("a.csv", FORMATS["csv"](rows(2, 3, 4)))
    checks = {
        "unique": {"column": "id", "onFail": "abort"},
        "customSql": {"query": "SELECT id FROM input WHERE id > 2", "onFail": "warn"},
        "schemaMatch": {"columns": {"id": "integer"}, "allowOthers": True, "onFail": "abort"},
    }
    report = world.preview(world.document(columns=COLUMNS, checks=checks))
    assert {check.check: check.observed for check in report.checks} == {"unique": 0, "schemaMatch": 0, "customSql": 1}
