"""Dataset checks on rows that are staged for a Delta table observe the same as in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from executors.checks import probe_checks, run_checks
from executors.delta.checks import HANDLERS, StagedInDelta, counting
from executors.delta.tables import describe_new
from executors.errors import Terminal
from executors.report import CheckReport
from ir.checks import (
    Cardinality,
    Check,
    DistinctRatio,
    DuplicateKey,
    Freshness,
    Mean,
    NullRate,
    RowCount,
    Sum,
    Unique,
)
from ir.nodes import Target
from tests.executors.delta.conftest import Loads

NOW = datetime(2025, 6, 15, 12, tzinfo=UTC)
COLUMNS = (
    ("id", "bigint"),
    ("name", "string"),
    ("price", "decimal(30,4)"),
    ("share", "float"),
    ("day", "date"),
    ("at", "timestamptz"),
)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("price", pa.decimal128(30, 4)),
        pa.field("share", pa.float64()),
        pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")),
    ]
)
ROWS: Sequence[Mapping[str, Any]] = (
    {
        "id": 2**62,
        "name": "a",
        "price": Decimal("0.1"),
        "share": 0.5,
        "day": date(2025, 6, 15),
        "at": datetime(2025, 6, 15, 11, tzinfo=UTC),
    },
    {
        "id": 2**62,
        "name": "A",
        "price": Decimal("0.2"),
        "share": 0.25,
        "day": date(2025, 6, 16),
        "at": datetime(2025, 6, 15, 13, tzinfo=UTC),
    },
    {"id": 3, "name": None, "price": None, "share": None, "day": None, "at": None},
)
TARGET = Target.model_validate(
    {"id": "load", "kind": "target", "inputs": ["x"], "connector": "delta", "connection": "lake", "schema": "lake",
     "table": "t", "loadMode": "append", "columns": [{"name": name, "type": kind} for name, kind in COLUMNS]}
)  # fmt: skip
DEST = describe_new(TARGET, SCHEMA, ())


def check(loads: Loads, one: Check, rows: Sequence[Mapping[str, Any]] = ROWS, mode: str = "append") -> CheckReport:
    plan = loads.staged(rows, mode, columns=COLUMNS)
    adds = mode == "append"
    with counting(plan, loads.folder.open(), (), DEST, NOW, adds_rows=adds) as staged:
        (report,) = run_checks(HANDLERS, staged, [("check", one.kind, one)])
    return report


@pytest.fixture
def table(loads: Loads) -> Loads:
    loads.create([], SCHEMA)
    return loads


@pytest.mark.parametrize(
    ("one", "observed"),
    [
        (RowCount(min=1, on_fail="warn"), 3),
        (NullRate(column="name", max=1, on_fail="warn"), 0.333333),
        (Cardinality(column="name", min_distinct=1, on_fail="warn"), 2),
        (DistinctRatio(column="id", min=0, on_fail="warn"), 0.666667),
        (Sum(column="id", min=0, on_fail="warn"), str(2**63 + 3)),
        (Sum(column="price", min=0, on_fail="warn"), 0.3),
        (Mean(column="share", min=0, on_fail="warn"), 0.375),
        (Unique(column="id", on_fail="warn"), 2),
        (DuplicateKey(columns=["id", "name"], on_fail="warn"), 0),
        (Freshness(column="at", within_hours=24, on_fail="warn"), 1.0),
        (Freshness(column="day", within_hours=24, on_fail="warn"), 12.0),
    ],
)
@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_a_check_observes_the_staged_rows(table: Loads, one: Check, observed: Any, mode: str) -> None:
    assert check(table, one, mode=mode).observed == observed


def test_times_after_now_are_noted(table: Loads) -> None:
    report = check(table, Freshness(column="at", within_hours=24, on_fail="warn"))
    assert report.message == "1 row with 'at' in the future"


def test_keys_that_the_table_has_count_if_the_load_adds_rows(table: Loads) -> None:
    table.load(ROWS[2:], columns=COLUMNS)
    one = DuplicateKey(columns=["id"], on_fail="abort")
    report = check(table, one)
    assert (report.ok, report.observed) == (False, 3)
    assert report.message == (
        "2 rows with 1 repeated value of id; 1 row with values of id that already exist in lake.t"
    )
    assert check(table, one, mode="truncate").observed == 2


@pytest.mark.parametrize(
    "one",
    [RowCount(max=0, on_fail="abort"), Sum(column="id", max=0, on_fail="abort"), Unique(column="id", on_fail="abort")],
)
def test_checks_that_pass_without_rows_pass_for_a_missing_table(loads: Loads, one: Check) -> None:
    loads.schema = SCHEMA
    assert check(loads, one, rows=()).ok


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (Sum(column="name", min=0, on_fail="warn"), "check.type"),
        (Freshness(column="id", within_hours=1, on_fail="warn"), "check.type"),
        (Unique(column="nothing", on_fail="warn"), "check.column_unknown"),
    ],
)
def test_obstacles_are_found_before_there_are_rows(loads: Loads, one: Check, code: str) -> None:
    columns = loads.staged((), columns=COLUMNS).columns
    with pytest.raises(Terminal) as refused:
        probe_checks(HANDLERS, StagedInDelta(columns, (), DEST, True, NOW), [("check", one.kind, one)])
    assert (refused.value.code, refused.value.node) == (code, "check")
