"""`freshness` checks the age of the newest value that is not in the future, in hours by the run's clock.

Times without a zone are UTC regardless of the time zone of server, session or machine; a date is its midnight. NULL and
infinite values do not count. Without any value the check fails, so that an empty table is never fresh.
"""

from __future__ import annotations

from fractions import Fraction

from executors.checks.base import CheckHandler, Outcome, StagedRows
from ir.checks import Freshness
from ir.words import counted


def run(staged: StagedRows, check: Freshness) -> Outcome:
    seconds, future = staged.age(check)
    note = f"{counted(future, 'row')} with {check.column!r} in the future" if future else None
    if seconds is None:
        return Outcome(f"no row has {check.column!r} at or before now", None, note)
    hours = Fraction(seconds) / 3600
    stale = hours > Fraction(str(check.within_hours))
    wrong = f"the newest {check.column!r} is {float(hours):,.2f} hours old, more than {check.within_hours}"
    return Outcome(wrong if stale else None, round(float(hours), 2), note)


def _probe(staged: StagedRows, check: Freshness) -> None:
    staged.require_time(check)


HANDLER = CheckHandler(Freshness.kind, run, _probe)
