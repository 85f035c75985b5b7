"""The logical types of Avro: the Arrow type of each, and the exact value of what a file stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

_MOST_DIGITS = 76
_EXACT = Context(prec=_MOST_DIGITS + 1)
_EPOCH, _DAY = date(1970, 1, 1), 86_400
_UNITS = {"millis": ("ms", 10**3), "micros": ("us", 10**6), "nanos": ("ns", 10**9)}


@dataclass(frozen=True, slots=True)
class Logical:
    """A logical type. `value` returns what `pa.array` takes for a stored value, `to_json` what JSON holds for it;
    both raise ValueError or OverflowError for a value that the type does not have. Stored values of type `stored`, if
    that is set, have the same bits as `arrow` values."""

    arrow: pa.DataType
    value: Callable[[Any], Any]
    to_json: Callable[[Any], Any]
    stored: pa.DataType | None = None


def _decimal(schema: Mapping[str, Any]) -> Logical | None:
    """An invalid decimal counts as its stored type, as the specification says."""
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if schema["type"] not in ("bytes", "fixed") or not isinstance(precision, int) or not isinstance(scale, int):
        return None
    if not (0 < precision <= _MOST_DIGITS and 0 <= scale <= precision):
        return None
    most = 10**precision

    def value(stored: bytes) -> Decimal:
        number = int.from_bytes(stored, "big", signed=True)
        if abs(number) >= most:
            raise ValueError("more digits than the type has")
        return Decimal(number).scaleb(-scale, _EXACT)

    arrow = pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    return Logical(arrow, value, lambda stored: str(value(stored)))


def _uuid(schema: Mapping[str, Any]) -> Logical | None:
    if schema["type"] == "string":
        return Logical(pa.uuid(), lambda stored: UUID(stored).bytes, lambda stored: str(UUID(stored)))
    if schema["type"] == "fixed" and schema["size"] == 16:
        return Logical(pa.uuid(), lambda stored: stored, lambda stored: str(UUID(bytes=stored)))
    return None


def _date(schema: Mapping[str, Any]) -> Logical | None:
    if schema["type"] != "int":
        return None
    return Logical(
        pa.date32(), lambda stored: stored, lambda stored: (_EPOCH + timedelta(stored)).isoformat(), pa.int32()
    )


def _time(unit: str) -> Callable[[Mapping[str, Any]], Logical | None]:
    short, per_second = _UNITS[unit]
    arrow, stored_type, kind = (
        (pa.time32(short), pa.int32(), "int") if unit == "millis" else (pa.time64(short), pa.int64(), "long")
    )

    def value(stored: int) -> int:
        if not 0 <= stored < _DAY * per_second:
            raise ValueError("not a time of day")
        return stored

    def to_json(stored: int) -> str:
        micros = value(stored) * (10**6 // per_second)
        return (datetime.min + timedelta(microseconds=micros)).time().isoformat()

    def logical(schema: Mapping[str, Any]) -> Logical | None:
        return Logical(arrow, value, to_json, stored_type) if schema["type"] == kind else None

    return logical


def _timestamp(unit: str, zone: str | None) -> Callable[[Mapping[str, Any]], Logical | None]:
    short, per_second = _UNITS[unit]

    def to_json(stored: int) -> str:
        seconds, fraction = divmod(stored, per_second)
        moment = datetime(1970, 1, 1, tzinfo=UTC if zone else None) + timedelta(seconds=seconds)
        digits = f".{fraction:0{len(str(per_second)) - 1}d}" if fraction else ""
        return f"{moment.replace(tzinfo=None).isoformat()}{digits}{'+00:00' if zone else ''}"

    def logical(schema: Mapping[str, Any]) -> Logical | None:
        arrow = pa.timestamp(short, zone)
        return Logical(arrow, lambda stored: stored, to_json, pa.int64()) if schema["type"] == "long" else None

    return logical


LOGICAL: dict[Any, Callable[[Mapping[str, Any]], Logical | None]] = {
    "decimal": _decimal,
    "uuid": _uuid,
    "date": _date,
    "time-millis": _time("millis"),
    "time-micros": _time("micros"),
    **{f"timestamp-{unit}": _timestamp(unit, "UTC") for unit in _UNITS},
    **{f"local-timestamp-{unit}": _timestamp(unit, None) for unit in _UNITS},
}
