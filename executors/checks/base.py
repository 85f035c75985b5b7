"""The input and the result of dataset checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, NamedTuple

from executors.errors import Terminal
from executors.model import Destination, DestinationColumn, SourceField, StageColumn
from ir.checks import Freshness
from ir.checks.base import Amount, Check
from ir.pointers import ROOT

Bound = int | float | str | None
_MOST_EXACT = 2**53


class RepeatedKeys(NamedTuple):
    """`rows` of staged rows have a key that is not unique. Of these, `repeated` rows share their `keys` with other
    staged rows, and `there` have keys that exist in the table."""

    rows: int
    repeated: int
    keys: int
    there: int


@dataclass(frozen=True, slots=True)
class StagedRows(ABC):
    """The staged rows of a target, as checks see them: what can be counted, and the context.

    `columns` are the columns of staging, `working` the columns of the pipeline's rows. `dest` is the target table.
    `adds_rows` means that the load does not change existing rows. `now` is the run's clock.
    """

    columns: Sequence[StageColumn]
    working: Sequence[SourceField]
    dest: Destination
    adds_rows: bool
    now: datetime

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

    @abstractmethod
    def count(self) -> int: ...

    @abstractmethod
    def count_nulls(self, check: Check, column: str) -> tuple[int, int]:
        """Return the number of NULLs of a column, and that of the rows."""

    @abstractmethod
    def count_distinct(self, check: Check, column: str) -> tuple[int, int]:
        """Return the number of distinct values of a column, and that of its values, without NULLs. Only identical
        values are equal."""

    @abstractmethod
    def require_number(self, check: Amount) -> None:
        """Raise Terminal `check.type` unless the column has numbers."""

    @abstractmethod
    def total(self, check: Amount) -> tuple[Decimal | float, int]:
        """Return the sum and the number of the values of a column, without NULLs. The sum of no values is 0. Numbers
        are added exactly unless they are floats."""

    @abstractmethod
    def require_key(self, check: Check, columns: Sequence[str]) -> None:
        """Raise Terminal unless keys can be compared with those of the table."""

    @abstractmethod
    def count_repeated(self, check: Check, columns: Sequence[str]) -> RepeatedKeys:
        """Count the rows whose key is not unique, with the rows of the table if the load only adds rows. Rows with NULL
        in the key do not count."""

    @abstractmethod
    def require_time(self, check: Freshness) -> None:
        """Raise Terminal `check.type` unless the column has dates or times."""

    @abstractmethod
    def age(self, check: Freshness) -> tuple[Decimal | float | None, int]:
        """Return the seconds since the newest value that is not after `now`, None without one, and the number of rows
        with later values. Times without a zone are UTC, a date is its midnight; infinite values do not count."""


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
    run: Callable[[Any, Any], Outcome]
    probe: Callable[[Any, Any], object]


def require_columns(staged: StagedRows, check: Check) -> None:
    """Probe a check that needs only its columns."""
    for name, _ in check.reads(ROOT):
        staged.column(check, name)


def wrong_type(check: Amount | Freshness, column: DestinationColumn, needs: str, hint: str) -> Terminal:
    message = f"{check.kind} needs {needs}; column {check.column!r} is {column.declared}."
    return Terminal("check.type", message, hint=hint)


def no_number(check: Amount, column: DestinationColumn) -> Terminal:
    return wrong_type(check, column, "numbers", "Use an integer, decimal or float column.")


def no_time(check: Freshness, column: DestinationColumn) -> Terminal:
    return wrong_type(check, column, "a date or time", "Use a column of type date, timestamp or timestamptz.")


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
