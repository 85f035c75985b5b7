"""Values of the field of an incremental source: numbers, and times in the forms of RFC 3339."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from decimal import Decimal

Value = Decimal | datetime
_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ZONE = r"(?P<zone>[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
_TIME = re.compile(_DATE.pattern + r"[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,](?P<digits>[0-9]+))?)?" + _ZONE)


def written_like(at: datetime, like: str) -> str:
    """Return a time in the form of another one."""
    if _DATE.fullmatch(like):
        return at.date().isoformat()
    form = _TIME.fullmatch(like)
    digits, zone = (form["digits"], form["zone"]) if form else (None, None)
    precision = "seconds" if digits is None else "milliseconds" if len(digits) <= 3 else "microseconds"
    written = (at if zone else at.replace(tzinfo=None)).isoformat("T" if "t" in like.lower() else " ", precision)
    return written.replace("+00:00", "Z") if zone in ("Z", "z") else written


def parse_value(text: str) -> Value | None:
    """Return a number or a time. A time without a zone is one of UTC."""
    if _NUMBER.fullmatch(text):
        return Decimal(text)
    if not (_DATE.fullmatch(text) or _TIME.fullmatch(text)):
        return None
    try:
        found = datetime.fromisoformat(text.upper())
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def is_of_a_clock(text: str) -> bool:
    """Return whether a value can be compared with a clock: a time with its zone, or a day, which is long enough."""
    form = _TIME.fullmatch(text)
    return bool(form["zone"]) if form else _DATE.fullmatch(text) is not None
