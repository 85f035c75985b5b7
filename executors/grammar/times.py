"""Parses dates, times and timestamps from text: ISO 8601, or a column's own `format` in the syntax of Python's
strptime."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone

import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import Terminal
from executors.grammar.stages import Parsed, has_letters, none_bad, read_in_stages, trim
from executors.types import wire_type
from ir.types import ColumnType

# Years before 1000 and 29 February are parsed one by one.
_PLAIN_DATE = (
    r"[1-9][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_PLAIN_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?"
_PLAIN_ZONE = r"(?:Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)"
_PLAIN_TIMESTAMP = _PLAIN_DATE + "[T ]" + _PLAIN_TIME

_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?)?")
_ZONED = re.compile(r"(.{16,26}?)(Z|([+-])([0-9]{2})(?::?([0-9]{2}))?)?")
_MOST_OFFSET_HOURS = 15
_FIRST_DAY = (date(1, 1, 1) - date(1970, 1, 1)).days


def _cast_to(arrow: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    return lambda text: pc.cast(text, arrow)


def _cast_utc(text: pa.Array) -> pa.Array:
    return pc.cast(pc.cast(text, pa.timestamp("us")), pa.timestamp("us", "UTC"))


def _cast_time(text: pa.Array) -> pa.Array:
    return pc.cast(pc.cast(pc.binary_join_element_wise("1970-01-01", text, "T"), pa.timestamp("us")), pa.time64("us"))


def date_of(text: str) -> date | None:
    match = _DATE.fullmatch(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def time_of(text: str) -> time | None:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    hour, minute, second, fraction = match.groups(default="0")
    try:
        return time(int(hour), int(minute), int(second), int(fraction.ljust(6, "0")))
    except ValueError:
        return None


def timestamp_of(text: str) -> datetime | None:
    """Parse a timestamp without offset."""
    day, clock = date_of(text[:10]), time_of(text[11:])
    if day is None or clock is None or text[10] not in "T ":
        return None
    return datetime.combine(day, clock)


def timestamptz_of(text: str) -> datetime | None:
    """Parse a timestamp with an offset of up to 15:59 or `Z`. Without an offset, it is in UTC."""
    match = _ZONED.fullmatch(text)
    naive = timestamp_of(match[1]) if match else None
    if match is None or naive is None:
        return None
    hours, minutes = int(match[4] or 0), int(match[5] or 0)
    if hours > _MOST_OFFSET_HOURS or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes) * (-1 if match[3] == "-" else 1)
    return _to_utc(naive.replace(tzinfo=timezone(offset)))


def _to_utc(moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return None


def parse_date(values: pa.Array, to: ColumnType) -> Parsed:
    if not has_letters(values):
        try:
            days = pc.cast(values, pa.date32())
        except pa.ArrowInvalid:
            days = None
        if days is not None and _from_year_one(days):
            return days, none_bad(len(values))
    return read_in_stages(values, pa.date32(), [(f"^{_PLAIN_DATE}$", _cast_to(pa.date32()))], date_of)


def _from_year_one(days: pa.Array) -> bool:
    first = pc.min(pc.cast(days, pa.int32())).as_py()
    return first is None or first >= _FIRST_DAY


def _are_whole_seconds(values: pa.Array) -> bool:
    """Whether all have the length of a date with a time in seconds. A cast accepts only such texts among those of this
    length."""
    lengths = pc.min_max(pc.binary_length(values))
    return bool(lengths["min"].as_py() == lengths["max"].as_py() == len("2001-02-03 04:05:06"))


def parse_time(values: pa.Array, to: ColumnType) -> Parsed:
    return read_in_stages(values, pa.time64("us"), [(f"^{_PLAIN_TIME}$", _cast_time)], time_of)


def parse_timestamp(values: pa.Array, to: ColumnType) -> Parsed:
    arrow = pa.timestamp("us")
    if _are_whole_seconds(values):
        try:
            moments = pc.cast(values, arrow)
        except pa.ArrowInvalid:
            moments = None
        if moments is not None and _from_year_one(pc.cast(moments, pa.date32(), safe=False)):
            return moments, none_bad(len(values))
    return read_in_stages(values, arrow, [(f"^{_PLAIN_TIMESTAMP}$", _cast_to(arrow))], timestamp_of)


def parse_timestamptz(values: pa.Array, to: ColumnType) -> Parsed:
    arrow = pa.timestamp("us", "UTC")
    stages = [
        # An offset can move a time of the year 9999 into the year 10000.
        (f"^[1-8]{_PLAIN_TIMESTAMP.removeprefix('[1-9]')}{_PLAIN_ZONE}$", _cast_to(arrow)),
        (f"^{_PLAIN_TIMESTAMP}$", _cast_utc),
    ]
    return read_in_stages(values, arrow, stages, timestamptz_of)


# --- a column's own format ---------------------------------------------------------------------------------------

_FROM_FORMAT: dict[str, Callable[[datetime], date | datetime | None]] = {
    "date": lambda moment: moment.date(),
    "timestamp": lambda moment: moment if moment.tzinfo is None else None,
    "timestamptz": lambda moment: _to_utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC)),
}
FORMATTED = tuple(_FROM_FORMAT)
"""Types whose columns may have a `format`."""


def require_format(template: str) -> None:
    """Raise for a format that no text can match."""
    try:
        datetime.strptime(datetime(2001, 2, 3, 4, 5, 6, 7, UTC).strftime(template), template)
    except ValueError as error:
        raise Terminal(
            "source.format_unusable",
            f"The format {template!r} cannot be read: {error}.",
            hint="Use the syntax of Python's strptime, for example %d/%m/%Y or %Y-%m-%d %H:%M:%S.",
        ) from error


def parse_formatted(values: pa.Array, to: ColumnType, templates: Sequence[str]) -> Parsed:
    """Parse texts in the formats of the column; the first format that reads the whole text applies. Equal texts are
    parsed once."""
    for template in templates:
        require_format(template)
    finish = _FROM_FORMAT[to.kind]
    coded = trim(values).dictionary_encode()
    known = pa.array(
        [_read_formatted(text, templates, finish) for text in coded.dictionary.to_pylist()], wire_type(to).arrow
    )
    typed = known.take(coded.indices)
    return typed, pc.and_(pc.is_valid(values), pc.is_null(typed))


def _read_formatted(
    text: str, templates: Sequence[str], finish: Callable[[datetime], date | datetime | None]
) -> date | datetime | None:
    for template in templates:
        try:
            found = finish(datetime.strptime(text, template))
        except ValueError:
            continue
        if found is not None:
            return found
    return None
