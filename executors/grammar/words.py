"""Parses booleans, UUIDs, JSON and binary from text."""

from __future__ import annotations

import json
import re
from typing import NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from executors.grammar.stages import Parsed, matches, none_bad, read_in_stages, trim
from ir.types import ColumnType

TRUE_WORDS = ("true", "t", "yes", "y", "1", "on")
FALSE_WORDS = ("false", "f", "no", "n", "0", "off")
_UUID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
_HEX = re.compile(r"\\x((?:[0-9A-Fa-f]{2})*)")


def parse_boolean(values: pa.Array, to: ColumnType) -> Parsed:
    words = pc.ascii_lower(trim(values))
    is_true = pc.is_in(words, value_set=pa.array(TRUE_WORDS))
    known = pc.or_(is_true, pc.is_in(words, value_set=pa.array(FALSE_WORDS)))
    return pc.if_else(known, is_true, pa.scalar(None, pa.bool_())), pc.and_not(pc.is_valid(values), known)


def parse_uuid(values: pa.Array, to: ColumnType) -> Parsed:
    """Parse 8-4-4-4-12 hex digits; the result is in lower case."""
    text = trim(values)
    good = matches(text, _UUID)
    return pc.if_else(good, pc.ascii_lower(text), pa.scalar(None, pa.string())), pc.and_not(pc.is_valid(values), good)


def parse_json(values: pa.Array, to: ColumnType) -> Parsed:
    """Check RFC 8259 documents; their text is not changed."""
    return read_in_stages(values, pa.string(), [], lambda text: text if is_json(text) else None)


def is_json(text: str) -> bool:
    """Return whether a text is a JSON document. Nesting deeper than the parser supports counts as invalid."""
    try:
        _JSON.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


# Numbers stay text: their value is not needed here, and int() refuses more than 4,300 digits.
_JSON = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def parse_binary(values: pa.Array, to: ColumnType) -> Parsed:
    r"""Parse PostgreSQL's hex form: `\x` and pairs of hex digits."""
    return read_in_stages(values, pa.binary(), [], _binary_of)


def _binary_of(text: str) -> bytes | None:
    match = _HEX.fullmatch(text)
    return bytes.fromhex(match[1]) if match else None


def keep_text(values: pa.Array, to: ColumnType) -> Parsed:
    """Return the text unchanged. PostgreSQL checks what only it can check."""
    return values, none_bad(len(values))
