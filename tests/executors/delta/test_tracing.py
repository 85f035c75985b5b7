"""Rows of Delta tables are found by the values of some columns, in the form in which other pages show values."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from executors.delta import tracing
from executors.delta.tracing import look_in_table
from executors.row_search import MOST_FOUND, SearchResult
from executors.table_name import TableName
from tests.executors.delta.conftest import Loads

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("name", pa.string()),
        pa.field("amount", pa.decimal128(20, 2)),
        pa.field("day", pa.date32()),
        pa.field("tags", pa.list_(pa.string())),
    ]
)
ANN = {"id": 1, "name": "Ann", "amount": Decimal("9007199254740993.10"), "day": datetime.date(2026, 1, 31), "tags": []}


def search(loads: Loads, **key: str) -> SearchResult:
    return look_in_table(loads.store, TableName("lake", "t"), key)


@pytest.fixture
def filled(loads: Loads) -> Loads:
    loads.create([ANN, {**ANN, "id": 2, "name": None}], SCHEMA)
    return loads


@pytest.mark.parametrize(
    "key",
    [{"id": "1"}, {"name": "Ann"}, {"amount": "9007199254740993.10", "id": "1"}, {"day": "2026-01-31", "id": "1"}],
)
def test_a_row_is_found_by_values_of_any_type(filled: Loads, key: dict[str, str]) -> None:
    (row,) = search(filled, **key).rows
    assert row == {"id": 1, "name": "Ann", "amount": "9007199254740993.10", "day": "2026-01-31"}


def test_the_columns_that_loads_fill_and_the_table_lacks_are_named(filled: Loads) -> None:
    assert search(filled, id="1").lacks == ("_source_file_hash", "_flow_run", "_source_record")


@pytest.mark.parametrize(
    ("key", "trouble"),
    [
        ({"id": "one"}, "A value cannot be read as its column's type."),
        ({"nothing": "1"}, "It has no column nothing; it has id, name, amount, day, tags."),
        ({"tags": "1"}, "Columns of this type cannot be searched: tags."),
    ],
)
def test_a_search_that_is_impossible_says_why(filled: Loads, key: dict[str, str], trouble: str) -> None:
    assert trouble in search(filled, **key).trouble


def test_a_missing_table_says_so(loads: Loads) -> None:
    assert search(loads, id="1").trouble == "The table does not exist."


def test_an_empty_table_has_no_row(loads: Loads) -> None:
    loads.create([], SCHEMA)
    assert (search(loads, id="1").rows, search(loads, id="1").trouble) == ((), "")


def test_some_of_many_rows_are_listed(loads: Loads) -> None:
    loads.create([{"id": 1, "name": str(number)} for number in range(MOST_FOUND + 5)])
    found = search(loads, id="1")
    assert (len(found.rows), found.has_more) == (MOST_FOUND, True)


def test_a_search_that_takes_too_long_says_so(filled: Loads, monkeypatch: Any) -> None:
    monkeypatch.setattr(tracing, "SECONDS", -1)
    assert search(filled, id="1").trouble == "The search exceeded 5 s."


def test_not_a_number_is_a_value_of_its_own(loads: Loads) -> None:
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("rate", pa.float64())])
    loads.create([{"id": 1, "rate": 0.5}, {"id": 2, "rate": float("nan")}], schema)
    assert search(loads, rate="NaN").rows == ({"id": 2, "rate": "NaN"},)
    assert search(loads, rate="0.5").rows == ({"id": 1, "rate": "0.5"},)


def test_a_table_whose_files_lack_columns_is_not_searched(loads: Loads) -> None:
    rows = pa.table({"id": [1], "day": ["Monday"]})
    write_deltalake(loads.folder.uri, rows, partition_by=["day"])
    assert search(loads, day="Monday").trouble == "It has partitions (day), which Flow does not support."
