"""`rowCount` counts all staged rows, NULLs included."""

from __future__ import annotations

from psycopg import sql

from executors.postgres.checks.base import CheckHandler, Outcome, Staged, typed_columns
from executors.postgres.staging import one_number
from ir.checks import RowCount
from ir.words import counted


def run(staged: Staged, check: RowCount) -> Outcome:
    count = one_number(staged.conn, sql.SQL("SELECT count(*) FROM {}").format(staged.rows))
    if check.min is not None and count < check.min:
        return Outcome(f"{counted(count, 'row')}, fewer than {check.min:,}", count)
    if check.max is not None and count > check.max:
        return Outcome(f"{counted(count, 'row')}, more than {check.max:,}", count)
    return Outcome(None, count)


HANDLER = CheckHandler(RowCount.kind, run, typed_columns)
