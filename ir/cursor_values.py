"""The values of a cursor as numbers: whole microseconds, whole days, or the numbers themselves. Bounds of chunks are
computed with them exactly, and written as texts again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import TypeVar

from ir.types import ColumnType
from ir.watermarks import Lag, is_whole, watermark_family

T = TypeVar("T", date, datetime)

_EXACT = Context(prec=200_000)
"""Numbers of databases have at most 147,455 digits."""
_MOST_DIGITS = (131_072, 16_383)
"""Those before and those after the point."""

_EPOCH = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_DAY_LENGTH = Fraction(_DAY // _MICROSECOND)
_YEARS = ((datetime.min - _EPOCH) // _MICROSECOND, (datetime.max - _EPOCH) // _MICROSECOND)
_LOWEST = {"smallint": -(2**15), "int2": -(2**15), "integer": -(2**31), "bigint": -(2**63)}


class Axis(ABC):
    """The values of one type of cursors, and their positions, which are exact."""

    @property
    def least_step(self) -> Fraction:
        """The distance of two neighbours; 0 if there is always another value between two."""
        return Fraction(1)

    @property
    def grain(self) -> Fraction | None:
        """The distance of the values at which ranges should begin; None if these are multiples of their length."""
        return None

    @abstractmethod
    def position(self, text: str) -> Fraction:
        """Return the position of a value. Raises ValueError for a text that is no finite value of the type."""

    @abstractmethod
    def text(self, position: Fraction) -> str:
        """Return the value at a position, or the next one below that the type has."""

    @abstractmethod
    def step(self, window: Lag) -> Fraction:
        """Return the length of a window or a lag. Raises ValueError if it does not fit the type."""

    def at(self, moment: datetime) -> str | None:
        """Return the value of a moment, which has a time zone; None if the values are no times."""
        return None

    def minus(self, text: str, lag: Lag | None) -> str:
        """Return the value minus a lag, in the way in which the watermark of a target subtracts it."""
        return text if lag is None else self.text(self.position(text) - self.step(lag))


@dataclass(frozen=True, slots=True)
class NumberAxis(Axis):
    """Numbers. Whole numbers are at least `lowest`."""

    lowest: int | None = None

    def position(self, text: str) -> Fraction:
        try:
            value = Decimal(text.strip())
        except InvalidOperation:
            raise ValueError(f"{text!r} is not a number") from None
        if not value.is_finite():
            raise ValueError(f"{text!r} is not finite")
        before, after = _MOST_DIGITS
        if value.adjusted() >= before or int(value.as_tuple().exponent) < -after:
            raise ValueError(f"{text!r} has more digits than a number of a database can have")
        if self.lowest is not None and value != value.to_integral_value():
            raise ValueError(f"{text!r} is not a whole number")
        if self.lowest is not None and not self.lowest <= value < -self.lowest:
            raise ValueError(f"{text!r} is not between {self.lowest} and {-self.lowest - 1}")
        return Fraction(value)

    def text(self, position: Fraction) -> str:
        if self.lowest is not None:
            return str(max(math.floor(position), self.lowest))
        return f"{_EXACT.divide(Decimal(position.numerator), Decimal(position.denominator)):f}"

    def step(self, window: Lag) -> Fraction:
        if isinstance(window, timedelta):
            raise ValueError("the cursor is a number, but the window is a duration")
        if self.lowest is not None and window != window.to_integral_value():
            raise ValueError(f"the cursor is a whole number, but {window} is not")
        return Fraction(window)

    @property
    def least_step(self) -> Fraction:
        return Fraction(0 if self.lowest is None else 1)


@dataclass(frozen=True, slots=True)
class TimeAxis(Axis):
    """Times in microseconds, with a zone (`zoned`) or without, from year 1 to 9999."""

    zoned: bool

    @property
    def grain(self) -> Fraction:
        return _DAY_LENGTH

    def position(self, text: str) -> Fraction:
        moment = _read(datetime.fromisoformat, text, "a time such as 2020-01-31 or 2020-01-31T10:00:00")
        if moment.tzinfo is not None:
            if not self.zoned:
                raise ValueError(f"{text!r} has a time zone, but the cursor has none")
            try:
                moment = moment.astimezone(UTC).replace(tzinfo=None)
            except OverflowError:
                raise ValueError(f"{text!r} is not within the years 1 to 9999 of UTC") from None
        return Fraction((moment - _EPOCH) // _MICROSECOND)

    def text(self, position: Fraction) -> str:
        first, last = _YEARS
        moment = _EPOCH + timedelta(microseconds=min(max(math.floor(position), first), last))
        return moment.isoformat(" ") + ("+00:00" if self.zoned else "")

    def step(self, window: Lag) -> Fraction:
        return Fraction(_duration(window) // _MICROSECOND)

    def at(self, moment: datetime) -> str | None:
        return self.text(Fraction((moment.astimezone(UTC).replace(tzinfo=None) - _EPOCH) // _MICROSECOND))


@dataclass(frozen=True, slots=True)
class DateAxis(Axis):
    """Dates in days, from year 1 to 9999."""

    @property
    def grain(self) -> Fraction:
        return Fraction(1)

    def position(self, text: str) -> Fraction:
        day = _read(date.fromisoformat, text, "a date such as 2020-01-31")
        return Fraction((day - _EPOCH.date()).days)

    def text(self, position: Fraction) -> str:
        first, last = (date.min - _EPOCH.date()).days, (date.max - _EPOCH.date()).days
        return (_EPOCH.date() + timedelta(days=min(max(math.floor(position), first), last))).isoformat()

    def step(self, window: Lag) -> Fraction:
        return Fraction(_duration(window) // _MICROSECOND) / _DAY_LENGTH

    def at(self, moment: datetime) -> str | None:
        return moment.astimezone(UTC).date().isoformat()


def _read(parse: Callable[[str], T], text: str, what: str) -> T:
    try:
        return parse(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not {what}") from None


def _duration(window: Lag) -> timedelta:
    if not isinstance(window, timedelta):
        raise ValueError(f"the cursor is a time, but {window} is a number")
    return window


def axis_of(kind: ColumnType) -> Axis | None:
    """Return the axis of a column type, None if its values cannot be divided into ranges: floats, whose texts differ
    from their values, and texts, between which there are no distances."""
    name = kind.pg_name if kind.kind == "pg" else kind.kind
    if is_whole(kind):
        return NumberAxis(_LOWEST[name])
    if watermark_family(kind) == "number":
        return NumberAxis()
    if name in ("timestamp", "timestamptz"):
        return TimeAxis(zoned=name == "timestamptz")
    return DateAxis() if name == "date" else None
