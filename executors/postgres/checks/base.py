"""The input and the result of dataset checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any

from psycopg import sql

from executors.errors import Terminal
from executors.model import Connection, Destination, DestinationColumn, SourceField, StageColumn
from executors.postgres.ddl import Conn
from executors.postgres.staging import StagingTables, is_winner
from executors.types import wire_type
from ir.checks.base import Check
from ir.pointers import ROOT

Bound = int | float | str | None
_MOST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Staged:
    """The staged rows of a target and the context of its checks.

    `columns` are the columns of staging, `working` the columns of the pipeline's rows. `dest` is the target table.
    `adds_rows` means that the load does not change existing rows. `now` is the run's clock. `open_session` opens a
    separate read-only session over `connection`.
    """

    conn: Conn
    tables: StagingTables
    winners: Sequence[int]
    columns: Sequence[StageColumn]
    working: Sequence[SourceField]
    dest: Destination
    adds_rows: bool
    now: datetime
    connection: Connection
    open_session: Callable[[], AbstractContextManager[Conn]]

    @property
    def rows(self) -> sql.Composed:
        """Return a FROM item with the rows as `s`, and its condition."""
        return sql.SQL("{} AS s WHERE {}").format(self.tables.good_identifier, is_winner(self.winners, "s"))

    def column(self, check: Check, name: str) -> tuple[StageColumn, DestinationColumn]:
        """Return a staged column and the table's column. Raises Terminal `check.column_unknown`."""
        staged, loaded = next((c for c in self.columns if c.name == name), None), self.dest.column(name)
        if staged is None or loaded is None:
            raise Terminal(
                "check.column_unknown",
                f"{check.kind} checks column {name!r}, which is not loaded into the target.",
                hint=f"Use a column that the target loads: {', '.join(c.name for c in self.columns)}.",
            )
        return staged, loaded

    def typed(self, check: Check, name: str) -> sql.Composed:
        """Return a staged value, over `s`, in the type of the table's column."""
        staged, loaded = self.column(check, name)
        return as_type(sql.Identifier("s", name), loaded.base if wire_type(staged.type).as_text else "")

    def exact(self, check: Check, name: str) -> sql.Composed:
        """Return a staged value, over `s`, in a form that is equal only for identical values: texts byte by byte (a
        collation may consider different texts equal), and text for types that may lack equality."""
        return exactly(self.typed(check, name), self.column(check, name)[1])

    def one_row(self, query: sql.Composed) -> tuple[Any, ...]:
        return self.conn.execute(query).fetchone() or ()


def as_type(value: sql.Composable, base: str) -> sql.Composed:
    """Cast a value. `base` is a type name from PostgreSQL, "" for no cast."""
    return sql.SQL("{}::{}" if base else "{}").format(*([value, sql.SQL(base)] if base else [value]))


def exactly(value: sql.Composable, column: DestinationColumn) -> sql.Composed:
    """Return the form of `Staged.exact`, for staged values and for values of the table's column."""
    if column.type.kind in ("pg", "string") or column.base in ("json", "jsonb"):
        return sql.SQL('{}::text COLLATE "C"').format(as_type(value, "bpchar" if _is_padded(column) else ""))
    return sql.SQL("{}").format(value)


def _is_padded(column: DestinationColumn) -> bool:
    """Return whether the type is `char(n)`, whose trailing blanks are not part of the value."""
    return column.base == "bpchar"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`wrong` says why a check fails. `note` is a warning that may also accompany a passed check. Neither contains row
    values; `observed` is a number of rows or a value computed from all rows."""

    wrong: str | None
    observed: Any = None
    note: str | None = None

    @property
    def message(self) -> str | None:
        return "; ".join(filter(None, (self.wrong, self.note))) or None


@dataclass(frozen=True, slots=True)
class CheckHandler:
    """`run` runs the check. `probe` finds obstacles before the source is read, when there are no rows yet."""

    kind: str
    run: Callable[[Staged, Any], Outcome]
    probe: Callable[[Staged, Any], object]


def typed_columns(staged: Staged, check: Check) -> None:
    """Probe a check that needs only its columns."""
    for name, _ in check.reads(ROOT):
        staged.column(check, name)


def outside(value: Decimal | Fraction | float, low: Bound, high: Bound) -> str | None:
    """Return how a number is outside of inclusive bounds; None if it is within. NaN is always outside.

    Bounds are exact, except for floats, which are compared as doubles.
    """
    exact = float if isinstance(value, float) else Fraction
    if value != value:
        return "not a number"
    if low is not None and value < exact(str(low)):
        return f"less than {low}"
    return f"more than {high}" if high is not None and value > exact(str(high)) else None


def json_number(value: Decimal | float) -> int | float | str:
    """Return a number that JSON represents exactly, else its text."""
    if not isfinite(value):
        return str(value)
    if isinstance(value, float):
        return value
    if value == int(value) and abs(value) <= _MOST_EXACT:
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else f"{value:f}"
