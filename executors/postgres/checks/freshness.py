"""`freshness` checks the age of the newest value that is not in the future, in hours by the run's clock.

Times without a zone are UTC regardless of the time zone of server, session or machine; a date is its midnight. NULL and
infinite values do not count. Without any value the check fails, so that an empty table is never fresh.
"""

from __future__ import annotations

from fractions import Fraction

from psycopg import sql

from executors.errors import Terminal
from executors.postgres.checks.base import CheckHandler, Outcome, Staged
from ir.checks import Freshness
from ir.words import counted

_MOMENTS = {
    "date": "{}::timestamp AT TIME ZONE 'UTC'",
    "timestamp without time zone": "{} AT TIME ZONE 'UTC'",
    "timestamp with time zone": "{}",
}
"""SQL that converts a value to a point in time, by the type of the table's column."""


def run(staged: Staged, check: Freshness) -> Outcome:
    query = sql.SQL(
        "SELECT EXTRACT(EPOCH FROM {now} - max(m.at) FILTER (WHERE m.at <= {now})),"
        " count(*) FILTER (WHERE m.at > {now})"
        " FROM (SELECT {at} AS at FROM {rows}) AS m WHERE isfinite(m.at)"
    ).format(now=sql.Literal(staged.now), at=_moment(staged, check), rows=staged.rows)
    seconds, future = staged.one_row(query)
    note = f"{counted(future, 'row')} with {check.column!r} in the future" if future else None
    if seconds is None:
        return Outcome(f"no row has {check.column!r} at or before now", None, note)
    hours = Fraction(seconds) / 3600
    stale = hours > Fraction(str(check.within_hours))
    wrong = f"the newest {check.column!r} is {float(hours):,.2f} hours old, more than {check.within_hours}"
    return Outcome(wrong if stale else None, round(float(hours), 2), note)


def _moment(staged: Staged, check: Freshness) -> sql.Composed:
    _, column = staged.column(check, check.column)
    if column.base not in _MOMENTS:
        raise Terminal(
            "check.type",
            f"freshness needs a date or time; column {check.column!r} is {column.declared}.",
            hint="Use a column of type date, timestamp or timestamptz.",
        )
    return sql.SQL("({})").format(sql.SQL(_MOMENTS[column.base]).format(staged.typed(check, check.column)))


HANDLER = CheckHandler(Freshness.kind, run, _moment)
