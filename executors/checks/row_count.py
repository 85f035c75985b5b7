"""`rowCount` counts all staged rows, NULLs included."""

from __future__ import annotations

from executors.checks.base import CheckHandler, Outcome, StagedRows, require_columns
from ir.checks import RowCount
from ir.words import counted


def run(staged: StagedRows, check: RowCount) -> Outcome:
    count = staged.count()
    if check.min is not None and count < check.min:
        return Outcome(f"{counted(count, 'row')}, fewer than {check.min:,}", count)
    if check.max is not None and count > check.max:
        return Outcome(f"{counted(count, 'row')}, more than {check.max:,}", count)
    return Outcome(None, count)


HANDLER = CheckHandler(RowCount.kind, run, require_columns)
