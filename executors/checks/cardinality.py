"""`cardinality` counts distinct values. NULL does not count; without rows the count is 0."""

from __future__ import annotations

from executors.checks.base import CheckHandler, Outcome, StagedRows, require_columns
from ir.checks import Cardinality
from ir.words import counted


def run(staged: StagedRows, check: Cardinality) -> Outcome:
    distinct, _ = staged.count_distinct(check, check.column)
    found = f"{counted(distinct, 'distinct value')} of {check.column!r}"
    if check.min_distinct is not None and distinct < check.min_distinct:
        return Outcome(f"{found}, fewer than {check.min_distinct:,}", distinct)
    if check.max_distinct is not None and distinct > check.max_distinct:
        return Outcome(f"{found}, more than {check.max_distinct:,}", distinct)
    return Outcome(None, distinct)


HANDLER = CheckHandler(Cardinality.kind, run, require_columns)
