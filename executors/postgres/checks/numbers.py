"""Shared by `sum` and `mean`: the numbers of a column, added exactly unless they are floats."""

from __future__ import annotations

from decimal import Decimal

from psycopg import sql

from executors.errors import Terminal
from executors.postgres.checks.base import Staged
from ir.checks.base import Amount

_FLOATS = ("real", "double precision")
_NUMBERS = ("smallint", "integer", "bigint", "numeric", *_FLOATS)


def number(staged: Staged, check: Amount) -> sql.Composed:
    """Return a staged value as a number: numeric, or double precision for floats. Raises Terminal `check.type`."""
    _, column = staged.column(check, check.column)
    if column.base not in _NUMBERS:
        raise Terminal(
            "check.type",
            f"{check.kind} needs numbers; column {check.column!r} is {column.declared}.",
            hint="Use an integer, decimal or float column.",
        )
    # The text of `real` has the digits that users see.
    kind = "double precision" if column.base in _FLOATS else "numeric"
    return sql.SQL("{}::{}").format(sql.Identifier("s", check.column), sql.SQL(kind))


def total(staged: Staged, check: Amount) -> tuple[Decimal | float, int]:
    """Return the sum and the number of values, without NULLs. The sum of no values is 0."""
    query = sql.SQL("SELECT sum({value}), count({value}) FROM {rows}").format(
        value=number(staged, check), rows=staged.rows
    )
    found, count = staged.one_row(query)
    return (Decimal(0) if found is None else found), count
