"""The type of a watermark in SQL: how the values of a column are compared with it, and how a lag is subtracted.

A watermark is stored as text and cast in comparisons, so that microseconds and large integers stay exact.
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
"""The database's clock at the beginning of the transaction; for types without a time zone, in UTC. A lead in hours is
added before the conversion to a date."""
_BELOW_ALL = {"numeric": "-Infinity"} | dict.fromkeys(_CLOCK, "-infinity")
_WIDER = ("smallint", "integer", "bigint", "numeric")


@dataclass(frozen=True, slots=True)
class WatermarkType:
    """`name` is the type in which watermarks are compared, `declared` the column's own type with length and precision.
    `lead` is how far watermarks may be ahead of the database's clock."""

    family: WatermarkFamily
    name: str
    declared: str
    lead: timedelta | None = None

    def literal(self, text: str | None) -> sql.Composed:
        return self._collated(sql.SQL("{}::{}").format(sql.Literal(text), sql.SQL(self.name)))

    def of(self, value: sql.Composable) -> sql.Composed:
        """Return a value in the type of the column, so that it is rounded before it is compared."""
        return self._collated(sql.SQL("({})::{}").format(value, sql.SQL(self.declared)))

    def _collated(self, value: sql.Composed) -> sql.Composed:
        # Byte by byte, so that an upgrade of the system's collations cannot move rows to the other side of the
        # watermark.
        return sql.SQL('{}::text COLLATE "C"').format(value) if self.family == "text" else value

    @property
    def below_all(self) -> str | None:
        """The watermark if it follows none of the rows so far; None for types where it follows all values."""
        return _BELOW_ALL.get(self.name)

    def is_ahead(self, value: sql.Composable) -> sql.Composed:
        """Return a condition: the watermark does not follow the value, because it would exclude all later rows: the
        value is later than the database's clock, or infinite or NaN."""
        if self.family == "time":
            return sql.SQL("{} > {}").format(value, self._clock())
        if self.name == "numeric":
            return sql.SQL("({})::text IN ('NaN', 'Infinity')").format(value)
        return sql.SQL("false").format()

    def _clock(self) -> sql.Composed:
        seconds = sql.Literal(f"{int((self.lead or timedelta()).total_seconds())} seconds")
        return sql.SQL("(({}) + {}::interval)::{}").format(sql.SQL(_CLOCK[self.name]), seconds, sql.SQL(self.name))

    def is_finite(self, value: sql.Composable) -> sql.Composed:
        """Return a condition on a value that a user sets: neither infinite nor NaN."""
        if self.family == "time":
            return sql.SQL("isfinite({})").format(value)
        if self.name == "numeric":
            return sql.SQL("({})::text NOT IN ('NaN', 'Infinity', '-Infinity')").format(value)
        return sql.SQL("{} IS NOT NULL").format(value)

    def minus(self, watermark: sql.Composable, lag: Lag | None) -> sql.Composed:
        """Return the watermark minus the lag, but at least the lowest number of the type."""
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
        """Return whether a watermark stored with that type has the same meaning in this type: only numbers may become
        wider."""
        if stored == self.name:
            return True
        return stored in _WIDER and self.name in _WIDER and _WIDER.index(stored) < _WIDER.index(self.name)


def watermark_type(column: DestinationColumn, lead: str | None = None) -> WatermarkType:
    """Return the type of a column's watermarks. Raises Terminal `watermark.column_unordered`,
    `watermark.lead_mismatch`."""
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
