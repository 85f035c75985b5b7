"""Parquet files of one source whose columns have different types: united exactly, or refused with both files named."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from executors.errors import Terminal
from tests.executors.conformance.world import World, target_of

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.every_connector]

DAY, MOMENT = date(2024, 1, 31), datetime(2024, 1, 31, 10)


def write(world: World, *columns: pa.Array) -> None:
    first = 1
    for number, values in enumerate(columns, start=1):
        ids = pa.array(range(first, first + len(values)), pa.int64())
        out = io.BytesIO()
        pq.write_table(pa.table({"id": ids, "v": values}), out)
        world.write(f"{number}.parquet", out.getvalue())
        first += len(values)


def loaded(world: World, declared: str | None, **target: Any) -> list[Any]:
    columns = [{"name": "id", "type": "bigint"}, {"name": "v", "type": declared}] if declared else None
    world.run(world.document(format="parquet", columns=columns, **target))
    return [value for _, value in world.rows("id, v")]


UNITED = {
    "nulls and numbers": ([pa.nulls(1), pa.array([7], pa.int64())], [None, 7]),
    "times and nulls": ([pa.array([MOMENT]), pa.nulls(1)], [MOMENT, None]),
    "nulls and lists": ([pa.nulls(1), pa.array([[1]])], [None, [1]]),
    "decimals": (
        [pa.array([Decimal("1.25")], pa.decimal128(3, 2)), pa.array([Decimal("1234.50")], pa.decimal128(6, 2))],
        [Decimal("1.25"), Decimal("1234.50")],
    ),
    "whole numbers and decimals": (
        [pa.array([2**62], pa.int64()), pa.array([Decimal("0.5")], pa.decimal128(2, 1))],
        [Decimal(2**62), Decimal("0.5")],
    ),
    "days and times": ([pa.array([DAY]), pa.array([MOMENT])], [datetime(2024, 1, 31), MOMENT]),
}


@pytest.mark.parametrize("what", UNITED)
def test_types_are_united_where_one_holds_all_values(world: World, what: str) -> None:
    columns, values = UNITED[what]
    write(world, *columns)
    assert loaded(world, None) == values


NUMBERS = [pa.array([2**53 + 1], pa.int64()), pa.array([2.0, 0.5], pa.float64())]
TIMES = [pa.array([MOMENT]), pa.array([datetime(2024, 1, 31, 11, tzinfo=UTC)], pa.timestamp("us", "UTC"))]
DECLARED = {
    "bigint": ([pa.array([2**53 + 1], pa.int64()), pa.array([2.0], pa.float64())], [2**53 + 1, 2]),
    "decimal(20,1)": (NUMBERS, [Decimal(2**53 + 1), Decimal("2.0"), Decimal("0.5")]),
    "float": (NUMBERS, [2.0**53, 2.0, 0.5]),
    "timestamptz": (TIMES, [MOMENT.replace(tzinfo=UTC), datetime(2024, 1, 31, 11, tzinfo=UTC)]),
    "timestamp": (TIMES, [MOMENT, datetime(2024, 1, 31, 11)]),
    "date": ([pa.array(["2024-01-31"]), pa.array([datetime(2024, 1, 31)])], [DAY, DAY]),
    "string": ([pa.array([5], pa.int64()), pa.array(["x"])], ["5", "x"]),
    "integer": ([pa.nulls(1), pa.array([5], pa.int64())], [None, 5]),
}


@pytest.mark.parametrize("kind", DECLARED)
def test_a_declared_type_decides(world: World, kind: str) -> None:
    columns, values = DECLARED[kind]
    write(world, *columns)
    assert loaded(world, kind) == values


def test_what_the_declared_type_cannot_hold_is_rejected_as_of_one_file(world: World) -> None:
    write(world, *NUMBERS)
    report = world.run(
        world.document(
            format="parquet",
            columns=[{"name": "id", "type": "bigint"}, {"name": "v", "type": "bigint"}],
            onTypeMismatch="skip",
        )
    )
    assert world.rows("id, v") == [(1, 2**53 + 1), (2, 2)]
    assert target_of(report).rows_rejected == 1
    assert [(rule.rule_id, rule.violations) for rule in report.rules if rule.violations] == [("type:v", 1)]


@pytest.mark.parametrize("columns", [NUMBERS, TIMES, [pa.array(["x"]), pa.array([1])]])
def test_what_no_type_holds_exactly_is_refused_with_both_files(world: World, columns: list[pa.Array]) -> None:
    write(world, *columns)
    with pytest.raises(Terminal, match=r"'v'.*in.*/1\.parquet.*in.*/2\.parquet") as refused:
        world.run(world.document(format="parquet"))
    assert refused.value.code == "source.types_differ"
