"""Rules and checks of a run over 336,776 flights have the same results as DuckDB on the same file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flowapp.demo.files import place_files
from tests.executors.conformance.world import World, reconciles, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres]

COLUMNS = [
    {"name": name, "type": "integer"}
    for name in ("year", "month", "day", "dep_time", "dep_delay", "arr_delay", "flight", "distance")
] + [{"name": "air_time", "type": "float"}]

KEY = "year, month, day, carrier, flight"
RULES: dict[str, tuple[dict[str, Any], str]] = {
    "named": ({"type": "notNull", "field": "tailnum"}, "tailnum IS NULL"),
    "tail": (
        {"type": "regex", "field": "tailnum", "pattern": "^N[0-9]{3}"},
        "NOT regexp_matches(tailnum, '^N[0-9]{3}')",
    ),
    "far": ({"type": "range", "field": "distance", "min": 100, "max": 2500}, "distance < 100 OR distance > 2500"),
    "quick": ({"type": "range", "field": "air_time", "max": 300.5}, "air_time > 300.5"),
    "short": ({"type": "maxLength", "field": "tailnum", "max": 5}, "length(tailnum) > 5"),
    "long": ({"type": "minLength", "field": "tailnum", "min": 6}, "length(tailnum) < 6"),
    "from": ({"type": "oneOf", "field": "origin", "values": ["JFK", "LGA"]}, "origin NOT IN ('JFK', 'LGA')"),
    "late": ({"type": "notOneOf", "field": "dep_delay", "values": [0, 1, -1.0]}, "dep_delay IN (0, 1, -1)"),
    "whole": (
        {"type": "fieldType", "field": "sched_dep_time", "expected": "integer"},
        "NOT regexp_full_match(sched_dep_time, '[0-9]+')",
    ),
    "past": ({"type": "notInFuture", "field": "time_hour"}, "time_hour::TIMESTAMP > now()::TIMESTAMP"),
    "order": ({"type": "expression", "expression": "arr_delay <= dep_delay + 30"}, "arr_delay > dep_delay + 30"),
    "winter": (
        {"type": "range", "field": "dep_delay", "max": 60, "when": "month IN (1, 2, 12) AND carrier <> 'UA'"},
        "dep_delay > 60 AND month IN (1, 2, 12) AND carrier <> 'UA'",
    ),
}


@pytest.fixture(scope="module")
def flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return next(path for path in place_files(tmp_path_factory.mktemp("wheel")) if path.name == "flights.csv")


@pytest.mark.slow
def test_counts_are_those_of_another_engine(world: World, flights: Path) -> None:
    shutil.copy(flights, world.write("flights.csv", ""))
    duck = duckdb.connect()
    duck.execute("SET TimeZone = 'UTC'")
    types = {c["name"]: {"integer": "INTEGER", "float": "DOUBLE"}[c["type"]] for c in COLUMNS}
    duck.read_csv(str(flights), all_varchar=True, null_padding=False, na_values=["NA", ""]).create_view("texts")
    typed = ", ".join(f"{name}::{kind} AS {name}" for name, kind in types.items())
    duck.execute(f"CREATE TABLE flights AS SELECT * REPLACE ({typed}) FROM texts")

    def one(query: str) -> Any:
        return duck.execute(query).fetchone()[0]

    checks = {
        "rowCount": {"min": 0},
        "cardinality": [{"column": name, "minDistinct": 0} for name in ("tailnum", "carrier", "distance")],
        "duplicateKey": {"columns": KEY.split(", ")},
        "sum": [{"column": name, "min": -1} for name in ("distance", "dep_delay", "air_time")],
        "mean": [{"column": name, "min": -1} for name in ("distance", "arr_delay")],
        "distinctRatio": {"column": "flight", "min": 0},
        "nullRate": [{"column": name, "min": 0} for name in ("tailnum", "dep_time", "air_time")],
        "customSql": {"query": "SELECT 1 FROM input WHERE origin = dest OR dep_time > 2359"},
    }
    checks = {
        kind: [{"onFail": "warn", **check} for check in ([found] if isinstance(found, dict) else found)]
        for kind, found in checks.items()
    }
    document = world.document(
        columns=COLUMNS,
        rules=[{**rule, "id": name, "onFail": "warn"} for name, (rule, _) in RULES.items()],
        checks=checks,
        source={"format": {"type": "csv", "nullValues": ["NA"]}},
        quarantine=False,
    )
    report = world.run(document)

    assert {rule.rule_id: rule.violations for rule in report.rules} == {
        name: one(f"SELECT count(*) FROM flights WHERE {failing}") for name, (_, failing) in RULES.items()
    }
    evaluated = {rule.rule_id: rule.evaluated for rule in report.rules}
    assert evaluated["winter"] == one("SELECT count(*) FROM flights WHERE month IN (1, 2, 12) AND carrier <> 'UA'")
    assert evaluated["named"] == target_of(report).rows_loaded == one("SELECT count(*) FROM flights") == 336_776
    assert reconciles(report)
    found = {(check.check, check.subject): check.observed for check in report.checks}
    expected = {
        ("rowCount", ""): 336_776,
        ("duplicateKey", KEY): one(
            f"SELECT coalesce(sum(n), 0) FROM (SELECT count(*) AS n FROM flights GROUP BY {KEY}) WHERE n > 1"
        ),
        ("distinctRatio", "flight"): one("SELECT round(count(DISTINCT flight) / count(flight), 6) FROM flights"),
        ("customSql", ""): one("SELECT count(*) FROM flights WHERE origin = dest OR dep_time > 2359"),
        **{
            ("cardinality", c): one(f"SELECT count(DISTINCT {c}) FROM flights")
            for c in ("tailnum", "carrier", "distance")
        },
        **{("sum", c): one(f"SELECT sum({c}) FROM flights") for c in ("distance", "dep_delay", "air_time")},
        **{("mean", c): one(f"SELECT avg({c}) FROM flights") for c in ("distance", "arr_delay")},
        **{
            ("nullRate", c): one(f"SELECT round(1 - count({c}) / count(*), 6) FROM flights")
            for c in ("tailnum", "dep_time", "air_time")
        },
    }
    assert found == {key: pytest.approx(value, rel=1e-12) for key, value in expected.items()}
