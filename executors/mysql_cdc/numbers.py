"""Numbers of rows in the log, as texts."""

from __future__ import annotations

import struct
from collections.abc import Callable

from executors.mysql_cdc.stored import Decode, Stored, ValueKind


def whole(size: int) -> Callable[[Stored, ValueKind], Decode]:
    def make(stored: Stored, kind: ValueKind) -> Decode:
        signed = not kind.is_unsigned

        def decode(row: bytes, at: int) -> tuple[bytes, int]:
            return b"%d" % int.from_bytes(row[at : at + size], "little", signed=signed), at + size

        return decode

    return make


def real(size: int, form: str) -> Callable[[Stored, ValueKind], Decode]:
    def make(stored: Stored, kind: ValueKind) -> Decode:
        unpack = struct.Struct(form).unpack_from
        scale = kind.scale if size == 8 else None  # FLOAT is selected as DOUBLE

        def decode(row: bytes, at: int) -> tuple[bytes, int]:
            (value,) = unpack(row, at)
            return (repr(value) if scale is None else f"{value:.{scale}f}").encode(), at + size

        return decode

    return make


_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)


def decimal(stored: Stored, kind: ValueKind) -> Decode:
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


def bits(stored: Stored, kind: ValueKind) -> Decode:
    size = (stored.size + 7) // 8

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        return b"%d" % int.from_bytes(row[at : at + size]), at + size

    return decode
