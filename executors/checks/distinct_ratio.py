"""`distinctRatio` ignores NULL. Without any value there is no ratio, and the check fails."""

from __future__ import annotations

from fractions import Fraction

from executors.checks.base import CheckHandler, Outcome, StagedRows, outside, require_columns
from ir.checks import DistinctRatio


def run(staged: StagedRows, check: DistinctRatio) -> Outcome:
    distinct, count = staged.count_distinct(check, check.column)
    if not count:
        return Outcome(f"no row has a value of {check.column!r}")
    wrong, observed = outside(Fraction(distinct, count), check.min, check.max), round(distinct / count, 6)
    text = f"{distinct:,} of {count:,} values of {check.column!r} are distinct, a ratio of {observed}, {wrong}"
    return Outcome(text if wrong else None, observed)


HANDLER = CheckHandler(DistinctRatio.kind, run, require_columns)
