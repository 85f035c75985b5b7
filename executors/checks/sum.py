"""`sum` ignores NULL; without rows the sum is 0. Whole and decimal numbers are exact; a NaN fails."""

from __future__ import annotations

from executors.checks.base import CheckHandler, Outcome, StagedRows, json_number, outside
from ir.checks import Sum


def run(staged: StagedRows, check: Sum) -> Outcome:
    found, _ = staged.total(check)
    wrong, observed = outside(found, check.min, check.max), json_number(found)
    return Outcome(f"the sum of {check.column!r} is {observed}, {wrong}" if wrong else None, observed)


def _probe(staged: StagedRows, check: Sum) -> None:
    staged.require_number(check)


HANDLER = CheckHandler(Sum.kind, run, _probe)
