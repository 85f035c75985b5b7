"""`nullRate` counts NULL as loaded, including '' if the load turns it into NULL. Without rows the rate is 0."""

from __future__ import annotations

from fractions import Fraction

from psycopg import sql

from executors.postgres.checks.base import CheckHandler, Outcome, Staged, outside, typed_columns
from ir.checks import NullRate
from ir.words import counted


def run(staged: Staged, check: NullRate) -> Outcome:
    query = sql.SQL("SELECT count(*) - count(s.{column}), count(*) FROM {rows}").format(
        column=sql.Identifier(check.column), rows=staged.rows
    )
    nulls, count = staged.one_row(query)
    rate = Fraction(nulls, count or 1)
    wrong, observed = outside(rate, check.min, check.max), round(float(rate), 6)
    text = f"{nulls:,} of {counted(count, 'row')} lack {check.column!r}, a rate of {observed}, {wrong}"
    return Outcome(text if wrong else None, observed)


HANDLER = CheckHandler(NullRate.kind, run, typed_columns)
