"""The texts about the counts of rules."""

from __future__ import annotations

import pytest

from executors.accounting import violation_warnings
from executors.model import RuleCount


@pytest.mark.parametrize(
    ("on_fail", "rows", "expected"),
    [
        ("warn", 1, "Rule email on 'contact': 1 row, loaded unless another rule rejected it."),
        ("warn", 3, "Rule email on 'contact': 3 rows, loaded unless another rule rejected them."),
        ("skip", 1, "Rule email on 'contact': 1 row rejected."),
    ],
)
def test_violations_are_reported_one_row_and_of_more(on_fail: str, rows: int, expected: str) -> None:
    (warning,) = violation_warnings([RuleCount("check", "r", "email", "contact", on_fail, rows)])
    assert warning.message == expected
