"""`cardinality` counts distinct values. NULL does not count; without rows the count is 0."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.checks.base import CheckHandler, Outcome, Staged, typed_columns
from executors.postgres.staging import one_number
from ir.checks import Cardinality
from ir.words import counted


def run(staged: Staged, check: Cardinality) -> Outcome:
    value = staged.exact(check, check.column)
    distinct = one_number(staged.conn, sql.SQL("SELECT count(DISTINCT {}) FROM {}").format(value, staged.rows))
    found = f"{counted(distinct, 'distinct value')} of {check.column!r}"
    if check.min_distinct is not None and distinct < check.min_distinct:
        return Outcome(f"{found}, fewer than {check.min_distinct:,}", distinct)
    if check.max_distinct is not None and distinct > check.max_distinct:
        return Outcome(f"{found}, more than {check.max_distinct:,}", distinct)
    return Outcome(None, distinct)


HANDLER = CheckHandler(Cardinality.kind, run, typed_columns)
