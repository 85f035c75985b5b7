"""`mean` ignores NULL. Without any value there is no mean, and the check fails. A NaN fails."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from executors.checks.base import CheckHandler, Outcome, StagedRows, json_number, outside
from ir.checks import Mean


def run(staged: StagedRows, check: Mean) -> Outcome:
    found, count = staged.total(check)
    if not count:
        return Outcome(f"no row has a value of {check.column!r}")
    is_exact = isinstance(found, Decimal) and found.is_finite()
    exact = Fraction(found) / count if is_exact else float(found) / count
    wrong, observed = outside(exact, check.min, check.max), _shown(exact)
    return Outcome(f"the mean of {check.column!r} is {observed}, {wrong}" if wrong else None, observed)


def _shown(mean: Fraction | float) -> int | float | str:
    """Return the nearest double; for values beyond the range of doubles, the whole part in full."""
    try:
        return json_number(float(mean))
    except OverflowError:
        return json_number(Decimal(int(mean)))


def _probe(staged: StagedRows, check: Mean) -> None:
    staged.require_number(check)


HANDLER = CheckHandler(Mean.kind, run, _probe)
