"""`schemaMatch`."""

from __future__ import annotations

import pytest

from ir.checks import SchemaMatch
from tests.executors.postgres.conftest import working

ARRIVED = working("a integer", "b decimal(9,2)", "c string")


@pytest.mark.parametrize(
    ("columns", "others", "message"),
    [
        ({"c": "string", "a": "integer", "b": "decimal(9,2)"}, False, None),
        ({"a": "integer"}, True, None),
        ({"a": "integer"}, False, "'b' is not expected; 'c' is not expected"),
        (
            {"a": "bigint", "b": "decimal(9,3)", "c": "string"},
            False,
            "'a' is integer, not bigint; 'b' is decimal(9,2), not decimal(9,3)",
        ),
        ({"A": "integer"}, True, "'A' is missing"),
    ],
)
def test_the_columns_that_arrive_are_compared_also_without_rows(staged, checking, columns, others, message):
    check = SchemaMatch(columns=columns, allow_others=others, on_fail="abort")
    load = staged("a integer", [])
    checking.probe(load, check)
    report = checking.run(load, check, ARRIVED)
    assert (report.message, report.ok, report.observed) == (
        message,
        not message,
        len(message.split(";")) if message else 0,
    )
