"""The history of a web service in chunks: what is asked for, which records belong to a chunk, and where it ends."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from executors.backfill.extents import Cursor, Extent
from executors.backfill.model import Chunk
from executors.errors import Terminal
from executors.http_api.incremental import CLOCKS, overlap_of
from executors.http_api.responses import scalar_at
from executors.http_api.values import is_of_a_clock, parse_value, written_like
from ir.connectors.http_api import Incremental
from ir.types import ColumnType

_FORM = "2024-01-31T08:00:00Z"
_UNKNOWN_ZONE = timedelta(days=1)
"""How far a clock may be behind whose time zone is unknown."""


def extent_of(incremental: Incremental, node: str, latest: datetime) -> Extent:
    """Return the extent of a service that selects records between two times. It ends some time ago, so that no record
    gets an earlier time after it was read. Raises Terminal `backfill.column_unordered`."""
    start = incremental.start or ""
    lowest = parse_value(start)
    if not isinstance(lowest, datetime):
        raise Terminal(
            "backfill.column_unordered",
            f"The start of {incremental.field!r} is no time, so nobody knows where its history ends.",
            node=node,
            hint="Set start in incremental to a time such as 2020-01-01T00:00:00Z, or remove until.",
        )
    behind = CLOCKS + overlap_of(incremental) + (timedelta() if is_of_a_clock(start) else _UNKNOWN_ZONE)
    highest = min(latest, datetime.now(UTC)) - behind
    cursor = Cursor(incremental.field, "timestamp with time zone", ColumnType("timestamptz"))
    axis = cursor.axis
    return Extent(cursor, axis.at(highest.replace(microsecond=0)), axis.at(lowest), has_nulls=False)


def state_at(incremental: Incremental, cut: str) -> str:
    """Return the state of a service that was read up to a cut."""
    return json.dumps({"value": written_like(_moment(cut), incremental.start or _FORM), "seen": []})


class ChunkRecords:
    """The records of one chunk. Services include a bound or not, and round it, so that some more records are asked for
    than belong to it; those are left out."""

    def __init__(self, incremental: Incremental, chunk: Chunk) -> None:
        self._field, self._form = incremental.field, incremental.start or _FORM
        self._lower = None if chunk.lower is None else _moment(chunk.lower)
        self._upper = None if chunk.upper is None else _moment(chunk.upper)
        self.parameters: dict[str, str] = {}
        if self._lower is not None:
            self.parameters[incremental.parameter] = self._written(self._lower - overlap_of(incremental))
        elif incremental.start is not None:
            self.parameters[incremental.parameter] = incremental.start
        if self._upper is not None and incremental.until is not None:
            self.parameters[incremental.until] = self._above(self._upper)
        self.outside = 0

    def has(self, record: str) -> bool:
        """Return whether a record belongs to the chunk. Those without a time belong to every chunk."""
        text = scalar_at(record, (self._field,)) if record.startswith("{") else None
        value = parse_value(text) if text else None
        if not isinstance(value, datetime):
            return True
        is_inside = (self._lower is None or self._lower <= value) and (self._upper is None or value < self._upper)
        self.outside += not is_inside
        return is_inside

    def _written(self, moment: datetime) -> str:
        return written_like(moment, self._form)

    def _above(self, moment: datetime) -> str:
        """Return a time in the form of the service that is not below a moment."""
        text = self._written(moment)
        written = parse_value(text)
        if isinstance(written, datetime) and written >= moment:
            return text
        return self._written(moment + (timedelta(days=1) if len(text) == len("2024-01-31") else timedelta(seconds=1)))


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
