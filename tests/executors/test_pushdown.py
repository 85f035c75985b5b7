"""The source column of a working column."""

from __future__ import annotations

from typing import Any

import pytest

from executors.pushdown import source_column
from tests.executors.spark.paths import make_path

RENAME = {"op": "rename", "columns": {"at": "seen"}}


@pytest.mark.parametrize(
    ("ops", "name", "found"),
    [
        ([], "at", "at"),
        ([RENAME], "seen", "at"),
        ([RENAME], "at", None),
        ([{"op": "rename", "columns": {"a": "b", "b": "a"}}], "a", "b"),
        ([RENAME, {"op": "cast", "columns": {"seen": "date"}}], "seen", None),
        ([{"op": "derive", "columns": {"at": "now()"}}], "at", None),
        ([{"op": "derive", "columns": {"x": "at"}}, {"op": "filter", "where": "x > 1"}], "at", "at"),
        ([{"op": "fillNull", "columns": {"at": 1}}], "at", None),
        ([{"op": "trim", "columns": ["at"]}], "at", None),
        ([{"op": "select", "columns": ["at"]}, {"op": "drop", "columns": ["x"]}], "at", "at"),
        ([{"op": "deduplicate", "keys": ["id"]}], "at", None),
    ],
)
def test_it_is_traced_through_the_ops(ops: list[dict[str, Any]], name: str, found: str | None) -> None:
    assert source_column(make_path(*ops), name) == found


def test_a_declared_column_may_have_other_values_than_the_source() -> None:
    assert source_column(make_path(columns=[{"name": "at", "type": "date"}]), "at") is None
