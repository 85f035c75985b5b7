"""`sum` ignores NULL; without rows the sum is 0. Whole and decimal numbers are exact; a NaN fails."""

from __future__ import annotations

from executors.postgres.checks.base import CheckHandler, Outcome, Staged, json_number, outside
from executors.postgres.checks.numbers import number, total
from ir.checks import Sum


def run(staged: Staged, check: Sum) -> Outcome:
    found, _ = total(staged, check)
    wrong, observed = outside(found, check.min, check.max), json_number(found)
    return Outcome(f"the sum of {check.column!r} is {observed}, {wrong}" if wrong else None, observed)


HANDLER = CheckHandler(Sum.kind, run, number)
