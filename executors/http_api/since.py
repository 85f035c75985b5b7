"""Where the next load begins: the highest value of a field, and the records near it, which arrive again."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from executors.errors import InvalidContent
from executors.http_api.responses import scalar_at
from ir.connectors.http_api import Incremental
from ir.watermarks import Lag, parse_lag

MOST_SEEN = 2_000
"""The number of records that are remembered. If more are near the highest value, the others load again."""
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MINUTE, _ONE = timedelta(minutes=1), Decimal(1)


class Since:
    """The progress of an incremental source. `state` is that of the last load, None for the first one.

    A time after `now` does not raise the highest value, because a record dated 2099 would leave out all later ones;
    `ahead` counts such records.
    """

    def __init__(self, incremental: Incremental, node: str, state: str | None, now: datetime | None = None) -> None:
        before: dict[str, Any] = json.loads(state) if state is not None else {"value": None, "seen": []}
        self.value: str | None = before["value"]
        self._incremental, self._node, self._now = incremental, node, now or datetime.now(UTC)
        self._known, self.ahead = frozenset[str](before["seen"]), 0
        self._near: dict[str, Any] = {}

    @property
    def parameter(self) -> str | None:
        """The lowest value to ask for; None for all records."""
        return self._lowest() if self.value is not None else self._incremental.start

    @property
    def state(self) -> str | None:
        """The state after all records were added."""
        if self.value is None:
            return None
        self._forget_distant()
        return json.dumps({"value": self.value, "seen": sorted(self._near)})

    def add(self, record: str, number: int) -> bool:
        """Add a record. Return whether it is new: the last load had the same record if it is not. Raises InvalidContent
        `http_api.field_unreadable` if its value is neither a number nor a time, or of another kind than the others."""
        text = scalar_at(record, (self._incremental.field,)) if record.startswith("{") else None
        if not text:
            return True
        value = self._parsed(text, number)
        known = hashlib.sha256(record.encode()).hexdigest()[:24]
        if isinstance(value, datetime) and value > self._now:
            self.ahead += 1
        elif self.value is None or value > self._parsed(self.value, number):  # type: ignore[operator]  # the same kind
            self.value = text
        self._remember(known, value)
        return known not in self._known

    def _parsed(self, text: str, number: int) -> Decimal | datetime:
        found, high = _parse(text), _parse(self.value) if self.value is not None else None
        if found is None or (high is not None and type(found) is not type(high)):
            raise InvalidContent(
                "http_api.field_unreadable",
                f"{self._incremental.field!r} of record {number:,} is not a number or a time that can be compared with "
                "the values of other records.",
                node=self._node,
                hint="Choose another field for incremental. Times need the form 2024-01-31T08:00:00Z.",
            )
        return found

    def _remember(self, known: str, value: Decimal | datetime) -> None:
        self._near[known] = value
        if len(self._near) > 2 * MOST_SEEN:
            self._forget_distant()

    def _forget_distant(self) -> None:
        """Forget the records below the lowest value that the next load asks for."""
        if self.value is not None:
            lowest = _parse(self._lowest())
            near = {known: value for known, value in self._near.items() if value >= lowest}
            self._near = dict(sorted(near.items(), key=lambda item: item[1])[-MOST_SEEN:])

    def _lowest(self) -> str:
        """Return the highest value less the overlap, in the same form."""
        value = str(self.value)
        parsed, overlap = _parse(value), self._incremental.overlap
        lag = parse_lag(overlap) if overlap is not None else None
        if isinstance(parsed, Decimal):
            return f"{parsed - (lag if isinstance(lag, Decimal) else _ONE):f}"
        return _earlier(value, _duration(lag))


def _duration(overlap: Lag | None) -> timedelta:
    """A number is an overlap in seconds."""
    if isinstance(overlap, Decimal):
        return timedelta(seconds=float(overlap))
    return _MINUTE if overlap is None else overlap


def _earlier(value: str, overlap: timedelta) -> str:
    if _DATE.fullmatch(value):
        return (datetime.fromisoformat(value) - overlap).date().isoformat()
    separator = "T" if "T" in value else " "
    digits = re.search(r"\.([0-9]+)", value)
    precision = "seconds" if digits is None else "milliseconds" if len(digits[1]) <= 3 else "microseconds"
    written = (datetime.fromisoformat(value) - overlap).isoformat(separator, precision)
    return written.replace("+00:00", "Z") if value.endswith("Z") else written


def _parse(text: str) -> Decimal | datetime | None:
    """Return a number or a time. A time without a zone is one of UTC."""
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found
