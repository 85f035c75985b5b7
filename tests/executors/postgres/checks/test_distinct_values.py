"""`cardinality`, `distinctRatio`, `nullRate`: their results, also without rows."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ir.checks import Cardinality, DistinctRatio, NullRate
from tests.executors.postgres.checks.conftest import bounded


def cardinality(low=None, high=None):
    return bounded(Cardinality, low, high, ("minDistinct", "maxDistinct"))


def ratio(low=None, high=None):
    return bounded(DistinctRatio, low, high)


def null_rate(low=None, high=None):
    return bounded(NullRate, low, high)


TEXTS = [("a",), ("A",), ("ä",), ("a\u0308",), ("a",), (None,), ("a ",)]


@pytest.mark.parametrize(
    ("check", "observed", "message"),
    [
        (cardinality(5, 5), 5, None),
        (cardinality(6), 5, "5 distinct values of 'c', fewer than 6"),
        (cardinality(None, 4), 5, "5 distinct values of 'c', more than 4"),
        (ratio(0.8), 0.833333, None),
        (ratio(0.9), 0.833333, "5 of 6 values of 'c' are distinct, a ratio of 0.833333, less than 0.9"),
        (null_rate(None, 0.2), 0.142857, None),
        (null_rate(None, 0.1), 0.142857, "1 of 7 rows lack 'c', a rate of 0.142857, more than 0.1"),
    ],
)
def test_texts_are_distinguished_by_their_code_points_and_null_is_no_value(staged, checking, check, observed, message):
    report = checking.run(staged('c text COLLATE "C"', TEXTS), check)
    assert (report.observed, report.message, report.ok) == (observed, message, message is None)


@pytest.mark.parametrize(
    ("columns", "values", "distinct"),
    [
        ("c uuid", ["6F1C1F9E-0000-4000-8000-000000000001", "6f1c1f9e-0000-4000-8000-000000000001"], 1),
        ("c json", ['{"a": 1}', '{"a":1}', '{"a": 2}'], 3),
        ("c jsonb", ['{"a": 1}', '{"a":1}', '{"a": 2}'], 2),
        ("c char(5)", ["a", "a  "], 1),
        ("c numeric(9,2)", ["1.0", "1.00"], 1),
        ("c point", ["(1,2)", "(1, 2)"], 1),
        ("c double precision", ["NaN", "NaN", "-0.0", "0.0"], 2),
    ],
)
def test_values_are_the_same_when_postgresql_writes_them_alike(staged, checking, columns, values, distinct):
    load = staged(columns.replace("double precision", "float"), [(cast(columns, value),) for value in values])
    assert checking.run(load, cardinality(0)).observed == distinct


def cast(columns, value):
    if "double" in columns:
        return float(value)
    return Decimal(value) if "numeric" in columns else value


@pytest.mark.parametrize("rows", [[], [(None,)]])
def test_without_values_there_are_no_distinct_ones_and_no_ratio(staged, checking, rows):
    load = staged("c text", rows)
    assert checking.run(load, cardinality(0, 0)).ok
    report = checking.run(load, ratio(0))
    assert (report.ok, report.observed, report.message) == (False, None, "no row has a value of 'c'")


def test_of_no_rows_none_lacks_a_value(staged, checking):
    report = checking.run(staged("c text", []), null_rate(None, 0))
    assert (report.ok, report.observed) == (True, 0.0)


def test_bounds_of_a_ratio_are_compared_exactly(staged, checking):
    load = staged("c integer", [(None,), (1,), (2,)])
    assert not checking.run(load, null_rate(0.3333333333333334)).ok
    assert checking.run(load, null_rate(0.3333333333333333)).ok
