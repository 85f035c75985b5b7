"""Dates and times of rows in the log, as texts."""

from __future__ import annotations

from executors.mysql_cdc.stored import Decode, Stored, ValueKind


def year(stored: Stored, kind: ValueKind) -> Decode:
    return lambda row, at: (b"%d" % (1900 + row[at]) if row[at] else b"0000", at + 1)


def date(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(row[at : at + 3], "little")
        return b"%04d-%02d-%02d" % (value >> 9, value >> 5 & 15, value & 31), at + 3

    return decode


def _fraction(raw: int, digits: int) -> bytes:
    """Return the digits of a stored fraction, which has an even number of them."""
    if not digits:
        return b""
    return b".%0*d" % (digits, raw // 10 if digits % 2 else raw)


def datetime2(stored: Stored, kind: ValueKind) -> Decode:
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


def timestamp2(stored: Stored, kind: ValueKind) -> Decode:
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


def time2(stored: Stored, kind: ValueKind) -> Decode:
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


def old_time(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        value = int.from_bytes(row[at : at + 3], "little", signed=True)
        clock = abs(value)
        sign = b"-" if value < 0 else b""
        return b"%s%02d:%02d:%02d" % (sign, clock // 10_000, clock // 100 % 100, clock % 100), at + 3

    return decode


def old_datetime(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        digits = b"%014d" % int.from_bytes(row[at : at + 8], "little")
        date = b"-".join((digits[:4], digits[4:6], digits[6:8]))
        return date + b" " + b":".join((digits[8:10], digits[10:12], digits[12:])), at + 8

    return decode


def old_timestamp(stored: Stored, kind: ValueKind) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        seconds = int.from_bytes(row[at : at + 4], "little")
        return (_utc(seconds) if seconds else _NO_TIME), at + 4

    return decode
