"""The type of a watermark in SQL: how a column's values are compared with it, and how a lag is taken away from it.

A watermark travels as text and is cast where it is compared, so that microseconds and large integers stay exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from psycopg import sql

from executors.errors import Terminal
from executors.model import DestinationColumn
from ir.durations import parse_duration
from ir.watermarks import Lag, WatermarkFamily, lead_fault, watermark_family

_LOWEST = {"smallint": -(2**15), "integer": -(2**31), "bigint": -(2**63)}
_CLOCK = {
    "timestamp with time zone": "now()",
    "timestamp without time zone": "now() AT TIME ZONE 'UTC'",
    "date": "now() AT TIME ZONE 'UTC'",
}
"""The database's clock, at the beginning of the transaction; where a type has no time zone, as it reads in UTC. A lead
in hours moves it before it becomes a date."""
_BELOW_ALL = {"numeric": "-Infinity"} | dict.fromkeys(_CLOCK, "-infinity")
_WIDER = ("smallint", "integer", "bigint", "numeric")


@dataclass(frozen=True, slots=True)
class WatermarkType:
    """`name` is the type that watermarks are compared as, `declared` the column's own, length and precision included;
    `lead` is how far beyond the database's clock watermarks may go."""

    family: WatermarkFamily
    name: str
    declared: str
    lead: timedelta | None = None

    def literal(self, text: str | None) -> sql.Composed:
        return self._collated(sql.SQL("{}::{}").format(sql.Literal(text), sql.SQL(self.name)))

    def of(self, value: sql.Composable) -> sql.Composed:
        """A value as the column will hold it: a finer one is rounded before it is compared, not after."""
        return self._collated(sql.SQL("({})::{}").format(value, sql.SQL(self.declared)))

    def _collated(self, value: sql.Composed) -> sql.Composed:
        # Byte by byte, so that an upgrade of the system's collations cannot move rows to the other side of the
        # watermark.
        return sql.SQL('{}::text COLLATE "C"').format(value) if self.family == "text" else value

    @property
    def below_all(self) -> str | None:
        """The watermark where all rows so far are beyond the reach of watermarks; None for types in which none can
        be."""
        return _BELOW_ALL.get(self.name)

    def is_ahead(self, value: sql.Composable) -> sql.Composed:
        """A condition: the value is beyond the reach of watermarks, which would leave out every later row: it is later
        than the database's clock, or no number that others can pass."""
        if self.family == "time":
            return sql.SQL("{} > {}").format(value, self._clock())
        if self.name == "numeric":
            return sql.SQL("({})::text IN ('NaN', 'Infinity')").format(value)
        return sql.SQL("false").format()

    def _clock(self) -> sql.Composed:
        seconds = sql.Literal(f"{int((self.lead or timedelta()).total_seconds())} seconds")
        return sql.SQL("(({}) + {}::interval)::{}").format(sql.SQL(_CLOCK[self.name]), seconds, sql.SQL(self.name))

    def is_finite(self, value: sql.Composable) -> sql.Composed:
        """A condition on what a person sets: neither infinity nor NaN."""
        if self.family == "time":
            return sql.SQL("isfinite({})").format(value)
        if self.name == "numeric":
            return sql.SQL("({})::text NOT IN ('NaN', 'Infinity', '-Infinity')").format(value)
        return sql.SQL("{} IS NOT NULL").format(value)

    def minus(self, watermark: sql.Composable, lag: Lag | None) -> sql.Composed:
        """The watermark less the lag. The lowest number of a type is not passed."""
        if lag is None:
            return sql.Composed([watermark])
        if isinstance(lag, timedelta):
            seconds = sql.Literal(f"{int(lag.total_seconds())} seconds")
            return sql.SQL("({} - {}::interval)::{}").format(watermark, seconds, sql.SQL(self.name))
        lowered = sql.SQL("{}::numeric - {}").format(watermark, sql.Literal(lag))
        if self.name not in _LOWEST:
            return lowered
        return sql.SQL("greatest({}, {})::{}").format(lowered, sql.Literal(_LOWEST[self.name]), sql.SQL(self.name))

    def can_follow(self, stored: str) -> bool:
        """Whether a watermark that was stored as that type means the same as this one: only numbers may become
        wider."""
        if stored == self.name:
            return True
        return stored in _WIDER and self.name in _WIDER and _WIDER.index(stored) < _WIDER.index(self.name)


def watermark_type(column: DestinationColumn, lead: str | None = None) -> WatermarkType:
    """Raises Terminal `watermark.column_unordered`, `watermark.lead_mismatch`."""
    family = watermark_family(column.type)
    if family is None:
        raise Terminal(
            "watermark.column_unordered",
            f"{column.name!r} is {column.declared}, which has no order that a watermark can use.",
            hint="Use a column with an integer, decimal, date, timestamp or text type.",
        )
    ahead = parse_duration(lead) if lead is not None else None
    if ahead is not None and (fault := lead_fault(ahead, column.type)):
        raise Terminal("watermark.lead_mismatch", fault, hint="Correct the target's watermarkLead.")
    return WatermarkType(family, "text" if family == "text" else column.base, column.declared, ahead)
