"""`nullRate` counts NULL as loaded, including '' if the load turns it into NULL. Without rows the rate is 0."""

from __future__ import annotations

from fractions import Fraction

from executors.checks.base import CheckHandler, Outcome, StagedRows, outside, require_columns
from ir.checks import NullRate
from ir.words import counted


def run(staged: StagedRows, check: NullRate) -> Outcome:
    nulls, count = staged.count_nulls(check, check.column)
    rate = Fraction(nulls, count or 1)
    wrong, observed = outside(rate, check.min, check.max), round(float(rate), 6)
    text = f"{nulls:,} of {counted(count, 'row')} lack {check.column!r}, a rate of {observed}, {wrong}"
    return Outcome(text if wrong else None, observed)


HANDLER = CheckHandler(NullRate.kind, run, require_columns)
