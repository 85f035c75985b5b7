"""The values of rows in the binary log, as the texts that the server writes for a SELECT.

A row of the log has values in the formats of storage, without names and character sets. Rows of a SELECT and of the log
then take the same way into Arrow, so that zero dates, all digits of decimals and times above 24 hours are the same.
"""

from __future__ import annotations

import ipaddress
import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

Decode = Callable[[bytes, int], tuple[bytes, int]]
"""Returns the text of the value at an offset, and the offset of the next value."""

DECIMAL, TINY, SHORT, LONG, FLOAT, DOUBLE = 0, 1, 2, 3, 4, 5
TIMESTAMP, LONGLONG, INT24, DATE, TIME, DATETIME, YEAR = 7, 8, 9, 10, 11, 12, 13
VARCHAR, BIT, TIMESTAMP2, DATETIME2, TIME2 = 15, 16, 17, 18, 19
NEWDECIMAL, ENUM, SET, BLOB, VAR_STRING, STRING = 246, 247, 248, 252, 253, 254

META_BYTES = {
    **dict.fromkeys((FLOAT, DOUBLE, BLOB, TIMESTAMP2, DATETIME2, TIME2, 255, 245), 1),
    **dict.fromkeys((VARCHAR, BIT, NEWDECIMAL, ENUM, SET, VAR_STRING, STRING), 2),
    # Columns with the attribute COMPRESSED.
    140: 1,
    141: 2,
}
"""The length of the metadata of a type in the log; 0 for the others."""


@dataclass(frozen=True, slots=True)
class Stored:
    """How the values of a column are stored: the type number of the log, with `size` and `scale` from its metadata."""

    type: int
    size: int = 0
    scale: int = 0

    @classmethod
    def of(cls, type_: int, meta: bytes) -> Stored:
        if type_ in (STRING, ENUM, SET):
            real, size = meta[0], meta[1]
            if real & 0x30 != 0x30:  # the two upper bits of a length above 255
                return cls(real | 0x30, size | ((real & 0x30) ^ 0x30) << 4)
            return cls(real, size)
        if type_ in (NEWDECIMAL,):
            return cls(type_, meta[0], meta[1])
        if type_ == BIT:
            return cls(type_, meta[0] + 8 * meta[1])
        if type_ in (TIMESTAMP2, DATETIME2, TIME2):
            return cls(type_, scale=meta[0])
        return cls(type_, int.from_bytes(meta, "little"))


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What the log does not say of a column: the type of its definition, whether it is unsigned, its labels if it is an
    ENUM or SET, and the bytes in UTF-8 of the 256 characters of its character set, None if no conversion is needed."""

    name: str
    is_unsigned: bool = False
    labels: Sequence[bytes] = ()
    scale: int | None = None
    characters: Sequence[bytes] | None = None
    wide: str = ""


def decoder_of(stored: Stored, kind: ValueKind) -> Decode | None:
    """Return the decoder of a column, None if the log stores another type than the one of the definition."""
    if kind.name not in _DEFINED.get(stored.type, ()):
        return None
    return _DECODERS[stored.type](stored, kind)


# --- numbers ------------------------------------------------------------------------------------------------------


def _whole(size: int) -> Callable[[Stored, ValueKind], Decode]:
    def make(stored: Stored, kind: ValueKind) -> Decode:
        signed = not kind.is_unsigned

        def decode(row: bytes, at: int) -> tuple[bytes, int]:
            return b"%d" % int.from_bytes(row[at : at + size], "little", signed=signed), at + size

        return decode

    return make


def _real(size: int, form: str) -> Callable[[Stored, ValueKind], Decode]:
    def make(stored: Stored, kind: ValueKind) -> Decode:
        unpack = struct.Struct(form).unpack_from
        scale = kind.scale if size == 8 else None  # FLOAT is selected as DOUBLE

        def decode(row: bytes, at: int) -> tuple[bytes, int]:
            (value,) = unpack(row, at)
            return (repr(value) if scale is None else f"{value:.{scale}f}").encode(), at + size

        return decode

    return make


_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def _decimal(stored: Stored, kind: ValueKind) -> Decode:
    whole, scale = stored.size - stored.scale, stored.scale
    first, rest = whole % 9, scale % 9
    parts = [(_DIGIT_BYTES[first], first)] if first else []
    parts += [(4, 9)] * (whole // 9)
    digits_before = len(parts)
    parts += [(4, 9)] * (scale // 9)
    if rest:
        parts.append((_DIGIT_BYTES[rest], rest))
    size = sum(length for length, _ in parts)

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        raw = bytearray(row[at : at + size])
        is_negative = not raw[0] & 0x80
        raw[0] ^= 0x80
        if is_negative:
            raw = bytearray(byte ^ 0xFF for byte in raw)
        groups, place = [], 0
        for length, count in parts:
            groups.append(b"%0*d" % (count, int.from_bytes(raw[place : place + length])))
            place += length
        text = b"".join(groups[:digits_before]).lstrip(b"0") or b"0"
        if scale:
            text += b"." + b"".join(groups[digits_before:])
        return (b"-" + text if is_negative else text), at + size

    return decode


def _bits(stored: Stored, kind: ValueKind) -> Decode:
    size = (stored.size + 7) // 8

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        return b"%d" % int.from_bytes(row[at : at + size]), at + size

    return decode


# --- dates and times ----------------------------------------------------------------------------------------------


def _year(stored: Stored, kind: ValueKind) -> Decode:
    return lambda row, at: (b"%d" % (1900 + row[at]) if row[at] else b"0000", at + 1)


def _date(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(row[at : at + 3], "little")
        return b"%04d-%02d-%02d" % (value >> 9, value >> 5 & 15, value & 31), at + 3

    return decode


def _fraction(raw: int, digits: int) -> bytes:
    """Return the digits of a stored fraction, which has an even number of them."""
    if not digits:
        return b""
    return b".%0*d" % (digits, raw // 10 if digits % 2 else raw)


def _datetime2(stored: Stored, kind: ValueKind) -> Decode:
    digits = stored.scale
    size = 5 + (digits + 1) // 2

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(row[at : at + 5]) - 0x8000000000
        day, clock = value >> 17, value & 0x1FFFF
        months = day >> 5
        text = b"%04d-%02d-%02d %02d:%02d:%02d" % (
            months // 13, months % 13, day & 31, clock >> 12, clock >> 6 & 63, clock & 63,
        )  # fmt: skip
        return text + _fraction(int.from_bytes(row[at + 5 : at + size]), digits), at + size

    return decode


def _timestamp2(stored: Stored, kind: ValueKind) -> Decode:
    digits = stored.scale
    size = 4 + (digits + 1) // 2

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        seconds, fraction = int.from_bytes(row[at : at + 4]), int.from_bytes(row[at + 4 : at + size])
        text = _utc(seconds) if seconds or fraction else _NO_TIME
        return text + _fraction(fraction, digits), at + size

    return decode


_NO_TIME = b"0000-00-00 00:00:00"


def _utc(seconds: int) -> bytes:
    """Return a number of seconds since 1970 as the server writes it in a session whose time zone is UTC."""
    days, clock = divmod(seconds, 86_400)
    # The civil date of a day number, by the algorithm of Howard Hinnant: faster than datetime.
    days += 719_468
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    year = year_of_era + era * 400 + (month <= 2)
    return b"%04d-%02d-%02d %02d:%02d:%02d" % (
        year, month, day_of_year - (153 * shifted + 2) // 5 + 1, clock // 3600, clock // 60 % 60, clock % 60,
    )  # fmt: skip


def _time2(stored: Stored, kind: ValueKind) -> Decode:
    digits = stored.scale
    bits = 8 * ((digits + 1) // 2)
    size = 3 + bits // 8

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(row[at : at + size]) - (0x800000 << bits)
        sign = b"-" if value < 0 else b""
        clock, fraction = divmod(abs(value), 1 << bits)
        text = b"%s%02d:%02d:%02d" % (sign, clock >> 12 & 0x3FF, clock >> 6 & 63, clock & 63)
        return text + _fraction(fraction, digits), at + size

    return decode


def _old_time(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(row[at : at + 3], "little", signed=True)
        clock = abs(value)
        sign = b"-" if value < 0 else b""
        return b"%s%02d:%02d:%02d" % (sign, clock // 10_000, clock // 100 % 100, clock % 100), at + 3

    return decode


def _old_datetime(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        digits = b"%014d" % int.from_bytes(row[at : at + 8], "little")
        date = b"-".join((digits[:4], digits[4:6], digits[6:8]))
        return date + b" " + b":".join((digits[8:10], digits[10:12], digits[12:])), at + 8

    return decode


def _old_timestamp(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        seconds = int.from_bytes(row[at : at + 4], "little")
        return (_utc(seconds) if seconds else _NO_TIME), at + 4

    return decode


# --- texts and bytes ----------------------------------------------------------------------------------------------


def _prefixed(prefix: int, convert: Callable[[bytes], bytes] | None) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        start = at + prefix
        end = start + int.from_bytes(row[at:start], "little")
        return row[start:end] if convert is None else convert(row[start:end]), end

    return decode


def _converter(kind: ValueKind) -> Callable[[bytes], bytes] | None:
    """Return what makes UTF-8 of a text, None if it is UTF-8."""
    if kind.wide:
        encoding = kind.wide
        # What is no character becomes a question mark, as in the results of the server.
        return lambda raw: raw.decode(encoding, "replace").replace("\ufffd", "?").encode()
    characters = kind.characters
    if characters is None:
        return None
    return lambda raw: b"".join([characters[byte] for byte in raw])


def _varchar(stored: Stored, kind: ValueKind) -> Decode:
    return _prefixed(2 if stored.size > 255 else 1, _converter(kind))


def _blob(stored: Stored, kind: ValueKind) -> Decode:
    return _prefixed(stored.size, _converter(kind))


def _string(stored: Stored, kind: ValueKind) -> Decode:
    """The log has neither the blanks at the end of a CHAR nor the zeros at the end of a BINARY."""
    size = stored.size
    prefix = 2 if size > 255 else 1
    finish = {"uuid": _uuid, "inet4": _inet4, "inet6": _inet6}.get(kind.name)
    if finish is not None:
        return _prefixed(prefix, lambda raw: finish(raw.ljust(size, b"\0")))
    if kind.name == "binary":
        return _prefixed(prefix, lambda raw: raw.ljust(size, b"\0"))
    return _prefixed(prefix, _converter(kind))


def _uuid(raw: bytes) -> bytes:
    return str(uuid.UUID(bytes=raw)).encode()


def _inet4(raw: bytes) -> bytes:
    return str(ipaddress.IPv4Address(raw)).encode()


def _inet6(raw: bytes) -> bytes:
    """As the server writes it: with the dots of an address of IPv4 in it, and `::` also for one group."""
    if raw[:12] == bytes(10) + b"\xff\xff":
        return b"::ffff:" + _inet4(raw[12:])
    if not any(raw[:12]) and int.from_bytes(raw[12:]) > 1:
        return b"::" + _inet4(raw[12:])
    groups = struct.unpack("!8H", raw)
    gap = max(_gaps(groups), key=lambda found: found[1], default=None)
    texts = [b"%x" % group for group in groups]
    if gap is None:
        return b":".join(texts)
    return b":".join(texts[: gap[0]]) + b"::" + b":".join(texts[gap[0] + gap[1] :])


def _gaps(groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where runs of zeros begin, and their lengths."""
    start = 0
    for is_zero, run in groupby(groups, lambda group: not group):
        size = len(list(run))
        if is_zero:
            yield start, size
        start += size


def _enum(stored: Stored, kind: ValueKind) -> Decode:
    size, labels = stored.size, (b"", *kind.labels)  # 0 is the error value
    return lambda row, at: (labels[int.from_bytes(row[at : at + size], "little")], at + size)


def _set(stored: Stored, kind: ValueKind) -> Decode:
    size, labels = stored.size, kind.labels

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        bits = int.from_bytes(row[at : at + size], "little")
        return b",".join([label for i, label in enumerate(labels) if bits >> i & 1]), at + size

    return decode


_DECODERS: dict[int, Callable[[Stored, ValueKind], Decode]] = {
    TINY: _whole(1),
    SHORT: _whole(2),
    INT24: _whole(3),
    LONG: _whole(4),
    LONGLONG: _whole(8),
    FLOAT: _real(4, "<f"),
    DOUBLE: _real(8, "<d"),
    NEWDECIMAL: _decimal,
    BIT: _bits,
    YEAR: _year,
    DATE: _date,
    DATETIME2: _datetime2,
    TIMESTAMP2: _timestamp2,
    TIME2: _time2,
    DATETIME: _old_datetime,
    TIMESTAMP: _old_timestamp,
    TIME: _old_time,
    VARCHAR: _varchar,
    VAR_STRING: _varchar,
    BLOB: _blob,
    STRING: _string,
    ENUM: _enum,
    SET: _set,
}

_DEFINED: dict[int, tuple[str, ...]] = {
    TINY: ("tinyint",),
    SHORT: ("smallint",),
    INT24: ("mediumint",),
    LONG: ("int",),
    LONGLONG: ("bigint",),
    FLOAT: ("float",),
    DOUBLE: ("double",),
    NEWDECIMAL: ("decimal",),
    BIT: ("bit",),
    YEAR: ("year",),
    DATE: ("date",),
    **dict.fromkeys((DATETIME2, DATETIME), ("datetime",)),
    **dict.fromkeys((TIMESTAMP2, TIMESTAMP), ("timestamp",)),
    **dict.fromkeys((TIME2, TIME), ("time",)),
    **dict.fromkeys((VARCHAR, VAR_STRING), ("varchar", "varbinary")),
    BLOB: ("tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"),
    STRING: ("char", "binary", "uuid", "inet4", "inet6"),
    ENUM: ("enum",),
    SET: ("set",),
}
"""By type of the log: the types of definitions that are stored so. JSON is `longtext`."""
