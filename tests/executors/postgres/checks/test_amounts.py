"""`sum` and `mean`: exact where numbers are, NULL, NaN, no rows."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from executors.errors import Terminal
from ir.checks import Mean, Sum
from tests.executors.postgres.checks.conftest import bounded


def total(low=None, high=None):
    return bounded(Sum, low, high)


def mean(low=None, high=None):
    return bounded(Mean, low, high)


TENTH = Decimal("0.1")


@pytest.mark.parametrize(
    ("columns", "values", "check", "observed", "ok"),
    [
        ("c integer", [2**31 - 1] * 3, total(1), 3 * (2**31 - 1), True),
        ("c bigint", [2**63 - 1] * 3, total(1), str(3 * (2**63 - 1)), True),
        ("c bigint", [2**63 - 1] * 3, total(None, str(3 * (2**63 - 1) - 1)), str(3 * (2**63 - 1)), False),
        ("c numeric(9,2)", [TENTH] * 3, total("0.3", 0.3), 0.3, True),
        ("c numeric(9,2)", [TENTH] * 3, mean(0.1, 0.1), 0.1, True),
        ("c numeric(30,20)", [Decimal("1.00000000000000000001")], total(None, 1), "1.00000000000000000001", False),
        ("c integer", [1, 2, 2], mean("1.66666666666666666666"), 5 / 3, True),
        ("c integer", [1, 2, 2], mean("1.66666666666666666667"), 5 / 3, False),
        ("c float", [0.5, 0.25], total(0.75, 0.75), 0.75, True),
        ("c float", [1.0, math.nan], total(0), "nan", False),
        ("c float", [1.0, math.inf], mean(0), "inf", True),
        ("c float", [1.0, math.inf], mean(None, 9), "inf", False),
        ("c smallint", ["7", "-3"], total(4, 4), 4, True),
        ("c real", ["0.1"], total(0.1, 0.1), 0.1, True),
        ("c numeric", ["NaN"], mean(0), "nan", False),
        ("c numeric", ["1" + "0" * 400], mean(None, 1), "1" + "0" * 400, False),
        ("c numeric", ["12345678901234567890.123"], total(0), "12345678901234567890.123", True),
    ],
)
def test_amounts_are_exact(staged, checking, columns, values, check, observed, ok):
    columns = columns.replace("float", "double precision")
    rows = [(value,) for value in values] + [(None,)]
    report = checking.run(staged(columns, rows), check)
    found = report.observed.lower() if report.observed in ("NaN", "Infinity") else report.observed
    assert (found, report.ok) == (observed, ok)


def test_a_message_reports_the_amount_and_the_bound(staged, checking):
    report = checking.run(staged("c integer", [(1,), (2,)]), total(4))
    assert report.message == "the sum of 'c' is 3, less than 4"
    assert report.subject == "c"


@pytest.mark.parametrize("rows", [[], [(None,)]])
def test_nothing_adds_up_to_zero_and_has_no_mean(staged, checking, rows):
    load = staged("c integer", rows)
    assert (checking.run(load, total(0, 0)).ok, checking.run(load, total(1)).observed) == (True, 0)
    report = checking.run(load, mean(0))
    assert (report.ok, report.observed, report.message) == (False, None, "no row has a value of 'c'")


@pytest.mark.parametrize("check", [total(0), mean(0)])
def test_what_is_no_number_is_refused_before_the_read(staged, checking, check):
    with pytest.raises(Terminal, match=r"check\.type.*'c' is text"):
        checking.probe(staged("c text", []), check)
