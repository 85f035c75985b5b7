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
    """The rows that were staged for a target, with all that checks ask about them.

    `columns` are those of staging, `working` those that the pipeline's rows have; `dest` is the table to be loaded,
    `adds_rows` says that a load leaves the rows that are there as they are, `now` is the run's clock. `open_session`
    gives a session over `connection` beside that of the load, in which nothing can be written.
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
        """A FROM item with the rows as `s`, and its condition."""
        return sql.SQL("{} AS s WHERE {}").format(self.tables.good_identifier, is_winner(self.winners, "s"))

    def column(self, check: Check, name: str) -> tuple[StageColumn, DestinationColumn]:
        """A staged column and that of the table; raises Terminal `check.column_unknown`."""
        staged, loaded = next((c for c in self.columns if c.name == name), None), self.dest.column(name)
        if staged is None or loaded is None:
            raise Terminal(
                "check.column_unknown",
                f"{check.kind} checks column {name!r}, which is not loaded into the target.",
                hint=f"Use a column that the target loads: {', '.join(c.name for c in self.columns)}.",
            )
        return staged, loaded

    def typed(self, check: Check, name: str) -> sql.Composed:
        """A staged value, over `s`, in the type of the table's column."""
        staged, loaded = self.column(check, name)
        return as_type(sql.Identifier("s", name), loaded.base if wire_type(staged.type).as_text else "")

    def exact(self, check: Check, name: str) -> sql.Composed:
        """A staged value, over `s`, in a form in which two values are equal only if they are the same: texts byte by
        byte (a collation may call different ones equal), and as text what PostgreSQL may have no equality for."""
        return exactly(self.typed(check, name), self.column(check, name)[1])

    def one_row(self, query: sql.Composed) -> tuple[Any, ...]:
        return self.conn.execute(query).fetchone() or ()


def as_type(value: sql.Composable, base: str) -> sql.Composed:
    """`base` is a type as PostgreSQL itself writes it, "" for none."""
    return sql.SQL("{}::{}" if base else "{}").format(*([value, sql.SQL(base)] if base else [value]))


def exactly(value: sql.Composable, column: DestinationColumn) -> sql.Composed:
    """The same form for staged values and for those of the table's column."""
    if column.type.kind in ("pg", "string") or column.base in ("json", "jsonb"):
        return sql.SQL('{}::text COLLATE "C"').format(as_type(value, "bpchar" if _is_padded(column) else ""))
    return sql.SQL("{}").format(value)


def _is_padded(column: DestinationColumn) -> bool:
    """`char(n)`, whose trailing blanks are not part of the value."""
    return column.base == "bpchar"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`wrong` says why a check does not hold, `note` what is worth a warning although it may hold. Neither tells the
    value of a row; `observed` is a number of rows or what was made of them all."""

    wrong: str | None
    observed: Any = None
    note: str | None = None

    @property
    def message(self) -> str | None:
        return "; ".join(filter(None, (self.wrong, self.note))) or None


@dataclass(frozen=True, slots=True)
class CheckHandler:
    """`probe` finds out before the source is read what would keep `run` from answering; there are no rows yet then."""

    kind: str
    run: Callable[[Staged, Any], Outcome]
    probe: Callable[[Staged, Any], object]


def typed_columns(staged: Staged, check: Check) -> None:
    """The probe of checks that need their columns alone."""
    for name, _ in check.reads(ROOT):
        staged.column(check, name)


def outside(value: Decimal | Fraction | float, low: Bound, high: Bound) -> str | None:
    """In what way a number lies outside of bounds, both included; None if it lies within. NaN lies nowhere.

    Bounds are exact, but for floats: those are compared as doubles.
    """
    exact = float if isinstance(value, float) else Fraction
    if value != value:
        return "not a number"
    if low is not None and value < exact(str(low)):
        return f"less than {low}"
    return f"more than {high}" if high is not None and value > exact(str(high)) else None


def json_number(value: Decimal | float) -> int | float | str:
    """A number that JSON holds exactly, else its text."""
    if not isfinite(value):
        return str(value)
    if isinstance(value, float):
        return value
    if value == int(value) and abs(value) <= _MOST_EXACT:
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else f"{value:f}"
