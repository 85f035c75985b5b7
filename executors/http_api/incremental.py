"""Where the next load begins: the highest value of a field, and the records near it, which arrive again."""

from __future__ import annotations

import hashlib
import json
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

from executors.errors import InvalidContent
from executors.http_api.responses import scalar_at
from executors.http_api.values import Value, is_of_a_clock, parse_value, written_like
from ir.connectors.http_api import Incremental
from ir.watermarks import Lag, parse_lag

MOST_SEEN = 2_000
"""The number of records that are remembered. If more are near the highest value, the others load again."""
AHEAD = CLOCKS = timedelta(minutes=5)
"""How much later than the clock a time may be without a warning, and how far clocks of one service may differ."""
_MINUTE, _DAY, _ONE = timedelta(minutes=1), timedelta(days=1), Decimal(1)


class IncrementalProgress:
    """The progress of an incremental source. `state` is that of the last load, None for the first one.

    A time after `now`, when fetching begins, does not raise the highest value: a record dated 2099 would leave out all
    later ones, and so would a record that changes while pages are read, because others may have changed before it on
    pages that were read before. `ahead` counts the records that are later than the clock when they arrive. If pages
    `shift`, a record that changes may move others to a page that was read before.
    """

    def __init__(
        self,
        incremental: Incremental,
        node: str,
        state: str | None,
        now: datetime | None = None,
        *,
        shift: bool = False,
    ) -> None:
        before: dict[str, Any] = json.loads(state) if state is not None else {"value": None, "seen": []}
        self.value: str | None = before["value"]
        self._high = parse_value(self.value) if self.value is not None else None
        self._incremental, self._node = incremental, node
        self._now = self._clock = now or datetime.now(UTC)
        self._known, self.ahead = frozenset[str](before["seen"]), 0
        self._near: dict[str, Any] = {}
        self._began, self._shift = time.monotonic(), shift
        self._last: Any = None
        self._is_ordered, self._changed_at = True, datetime.max.replace(tzinfo=UTC)
        self._pages: list[tuple[float | None, str | None]] = []

    @property
    def field(self) -> str:
        return self._incremental.field

    @property
    def parameter(self) -> str | None:
        """The lowest value to ask for; None for all records."""
        return self._lowest(self.value)[1] if self.value is not None else self._incremental.start

    @property
    def state(self) -> str | None:
        """The state after all records were added."""
        value = self._safe()
        if value is None:
            return None
        self._forget_distant(value)
        return json.dumps({"value": value, "seen": sorted(self._near)})

    def begin_page(self, sent_at: float | None) -> None:
        """Begin with the records of a page. `sent_at` is the time of the server's clock, in seconds since 1970. A clock
        that is more than a day behind is not set."""
        if sent_at is not None and not self._pages:
            at = datetime.fromtimestamp(sent_at, UTC)
            self._now = min(self._now, at) if self._now - at < _DAY else self._now
        self._pages.append((sent_at, self.value))

    def add(self, record: str, number: int) -> bool:
        """Add a record. Return whether it is new: the last load had the same record if it is not. Raises InvalidContent
        `http_api.field_unreadable` if its value is neither a number nor a time, or of another kind than the others."""
        text = scalar_at(record, (self.field,)) if record.startswith("{") else None
        if not text:
            return True
        value: Any = self._parsed(text, number)
        known = hashlib.sha256(record.encode()).hexdigest()[:24]
        self._is_ordered = self._is_ordered and (self._last is None or value >= self._last)
        self._last = value
        if isinstance(value, datetime) and value > self._now:
            self._add_later(value)
        elif self._high is None or value > self._high:
            self.value, self._high = text, value
        self._remember(known, value)
        return known not in self._known

    def _add_later(self, value: datetime) -> None:
        self._changed_at = min(self._changed_at, value)
        elapsed = timedelta(seconds=time.monotonic() - self._began)
        self.ahead += value - AHEAD - elapsed > self._clock

    def _safe(self) -> str | None:
        """Return the value below which no record can be missing. Records that change while pages are read are found
        by the next load if all of them get higher values than this."""
        if len(self._pages) < 2 or self.value is None:
            return self.value
        if not self._is_ordered:
            # Only times of a clock show which records changed meanwhile. All other values that are as high as
            # those of the first page may have been given afterwards.
            return self.value if is_of_a_clock(self.value) else self._pages[1][1]
        if self._shift:
            moved = self._changed_at.timestamp() - CLOCKS.total_seconds()
            return next((high for at, high in self._pages[1:] if at is None or at >= moved), self.value)
        return self.value

    def _parsed(self, text: str, number: int) -> Value:
        found, other = parse_value(text), self._last if self._high is None else self._high
        if found is None or (other is not None and type(found) is not type(other)):
            raise InvalidContent(
                "http_api.field_unreadable",
                f"{self.field!r} of record {number:,} is not a number or a time that can be compared with "
                "the values of other records.",
                node=self._node,
                hint="Choose another field for incremental. Times need the form 2024-01-31T08:00:00Z.",
            )
        return found

    def _remember(self, known: str, value: Value) -> None:
        self._near[known] = value
        if len(self._near) > 2 * MOST_SEEN:
            self._forget_distant(self._safe())

    def _forget_distant(self, value: str | None) -> None:
        """Forget the records below the lowest value that a load asks for which begins at `value`."""
        near = self._near
        if value is not None:
            lowest: Any = self._lowest(value)[0]
            near = {known: value for known, value in near.items() if value >= lowest}
        self._near = dict(sorted(near.items(), key=lambda item: item[1])[-MOST_SEEN:])

    def _lowest(self, value: str) -> tuple[Value, str]:
        """Return a value less the overlap, and its text in the same form."""
        parsed, overlap = parse_value(value), self._incremental.overlap
        lag = parse_lag(overlap) if overlap is not None else None
        if isinstance(parsed, Decimal):
            with localcontext() as context:
                context.prec = 100
                lowest = parsed - (lag if isinstance(lag, Decimal) else _ONE)
            return lowest, f"{lowest:f}"
        if parsed is None:
            raise AssertionError("only values that can be read are stored")
        try:
            earlier = parsed - _duration(lag)
        except OverflowError:
            earlier = datetime.min.replace(tzinfo=parsed.tzinfo)
        text = written_like(earlier, value)
        return parse_value(text) or earlier, text


def overlap_of(incremental: Incremental) -> timedelta:
    """Return how far a load goes back behind a time."""
    return _duration(parse_lag(incremental.overlap) if incremental.overlap is not None else None)


def _duration(overlap: Lag | None) -> timedelta:
    """A number is an overlap in seconds."""
    if isinstance(overlap, Decimal):
        return timedelta(seconds=float(overlap))
    return _MINUTE if overlap is None else overlap
