"""Integers, floats and decimals from text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar.stages import Parsed, has_letters, longest, none_bad, read_in_stages
from executors.types import wire_type
from ir.types import ColumnType

SEPARATED = ("integer", "bigint", "float", "decimal")
"""Types whose texts may have separators other than the point."""

_INTEGER = re.compile(r"([+-]?)0*([0-9]+)")
_PLAIN_INTEGER = {
    "integer": r"^-?(?:[0-9]{1,9}|1[0-9]{9})$",
    "bigint": r"^-?(?:[0-9]{1,18}|[1-8][0-9]{18})$",
}
"""Matches integers that are certainly in range; others are checked one by one."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_FLOAT_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_PLAIN_FLOAT = r"^-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$"
_MOST_DIGITS = 38
_SAFE_LENGTH = 200
"""Up to this number of digits, and with two digits of exponent, a double neither overflows nor becomes zero."""


def parse_integer(values: pa.Array, to: ColumnType) -> Parsed:
    """`[+-]?` digits in the range of `integer` or `bigint`."""
    arrow = wire_type(to).arrow
    if not has_letters(values):
        try:
            return pc.cast(values, arrow), none_bad(len(values))
        except pa.ArrowInvalid:
            pass
    stages = [(_PLAIN_INTEGER[to.kind], lambda text: pc.cast(text, arrow))]
    return read_in_stages(values, arrow, stages, _integer_of(arrow.bit_width))


def _integer_of(bits: int) -> Callable[[str], int | None]:
    limit = 1 << (bits - 1)

    def one(text: str) -> int | None:
        match = _INTEGER.fullmatch(text)
        if match is None or len(match[2]) > 19:
            return None
        value = int(match[1] + match[2])
        return value if -limit <= value < limit else None

    return one


def parse_float(values: pa.Array, to: ColumnType) -> Parsed:
    """Read decimal or exponent form, `NaN`, `Infinity` and `-Infinity`; values that overflow or become zero in a double
    are bad."""
    arrow = wire_type(to).arrow
    if longest(values) <= _SAFE_LENGTH:
        if not has_letters(values):
            try:
                return pc.cast(values, arrow), none_bad(len(values))
            except pa.ArrowInvalid:
                pass
        return read_in_stages(values, arrow, [(_PLAIN_FLOAT, lambda text: pc.cast(text, arrow))], float_of)
    return read_in_stages(values, arrow, [], float_of)


def float_of(text: str) -> float | None:
    """Return the double in a trimmed text, or None."""
    if not _NUMBER.fullmatch(text):
        return _FLOAT_WORDS.get(text)
    value = float(text)
    if math.isinf(value) or (value == 0 and _has_nonzero_digit(text)):
        return None
    return value


def exact_of(text: str) -> Decimal:
    """Return the exact value of a trimmed text that `float_of` reads."""
    # Decimal refuses a zero with an exponent of nineteen digits.
    return Decimal(0) if float_of(text) == 0 else Decimal(text)


def _has_nonzero_digit(text: str) -> bool:
    mantissa = re.split("[eE]", text)[0]
    return bool(re.search("[1-9]", mantissa))


def parse_decimal(values: pa.Array, to: ColumnType) -> Parsed:
    """Read decimal or exponent form that fits (p, s) exactly; trailing zeros of the fraction do not count."""
    wire = wire_type(to)
    if wire.as_text:
        return read_in_stages(values, wire.arrow, [], _wide_decimal_of(to))
    # Arrow truncates longer texts, and overflows if scaling adds digits, both without an error.
    if not has_letters(values) and longest(values) + to.scale <= _MOST_DIGITS:
        try:
            return pc.cast(values, wire.arrow), none_bad(len(values))
        except pa.ArrowInvalid:
            pass
    stages = [(_plain_decimal(to), lambda text: pc.cast(text, wire.arrow))]
    return read_in_stages(values, wire.arrow, stages, lambda text: decimal_of(text, to))


def _plain_decimal(to: ColumnType) -> str:
    """Match texts that certainly fit: at most p - s digits before the point and s after it."""
    whole = to.precision - to.scale
    before = rf"[0-9]{{1,{whole}}}" if whole > 0 else "0"
    return rf"^[+-]?{before}(\.[0-9]{{0,{min(to.scale, to.precision)}}})?$" if whole >= 0 else r"^[+-]?0$"


def decimal_of(text: str, to: ColumnType) -> Decimal | None:
    """Return the decimal in a trimmed text if it fits the type exactly, else None. The cost does not grow with the
    exponent."""
    if not _NUMBER.fullmatch(text):
        return None
    if not _has_nonzero_digit(text):
        return Decimal(0)
    try:
        sign, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None  # an exponent of nineteen digits, which fits no type
    if not isinstance(exponent, int):
        return None
    significant = "".join(map(str, digits)).lstrip("0")
    exponent += len(significant)
    significant = significant.rstrip("0")
    exponent -= len(significant)
    if -exponent > to.scale or len(significant) + exponent > to.precision - to.scale:
        return None
    return Decimal((sign, tuple(map(int, significant)), exponent))


def _wide_decimal_of(to: ColumnType) -> Callable[[str], str | None]:
    def one(text: str) -> str | None:
        value = decimal_of(text, to)
        return None if value is None else format(value, "f")

    return one
