"""How the log stores the values of a column, and what it does not say of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
