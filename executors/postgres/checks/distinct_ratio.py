"""`distinctRatio` ignores NULL. Without any value there is no ratio, and the check fails."""

from __future__ import annotations

from fractions import Fraction

from psycopg import sql

from executors.postgres.checks.base import CheckHandler, Outcome, Staged, outside, typed_columns
from ir.checks import DistinctRatio


def run(staged: Staged, check: DistinctRatio) -> Outcome:
    query = sql.SQL("SELECT count(DISTINCT {value}), count({value}) FROM {rows}").format(
        value=staged.exact(check, check.column), rows=staged.rows
    )
    distinct, count = staged.one_row(query)
    if not count:
        return Outcome(f"no row has a value of {check.column!r}")
    wrong, observed = outside(Fraction(distinct, count), check.min, check.max), round(distinct / count, 6)
    text = f"{distinct:,} of {count:,} values of {check.column!r} are distinct, a ratio of {observed}, {wrong}"
    return Outcome(text if wrong else None, observed)


HANDLER = CheckHandler(DistinctRatio.kind, run, typed_columns)
