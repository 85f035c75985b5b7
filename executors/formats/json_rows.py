"""Parses one JSON object as a row of texts: numbers as written, nested values as their exact JSON text."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import Any

import pyarrow as pa

from executors.model import SourceField
from ir.types import STRING, ColumnType

Row = dict[str, str | None]


class BadRecordError(Exception):
    """A record that is not a row. The text gives the reason without values."""


def _refuse(word: str) -> None:
    raise BadRecordError(f"not valid JSON: {word} is not a JSON value")


def _decoder(object_hook: Any) -> json.JSONDecoder:
    # Numbers keep the text as written.
    return json.JSONDecoder(object_pairs_hook=object_hook, parse_int=str, parse_float=str, parse_constant=_refuse)


_PAIRS = _decoder(list)
_SKIM = _decoder(lambda pairs: None)
_SPACE = re.compile(r"[ \t\n\r]*")
_WORDS = {True: "true", False: "false"}
_NOTHING: frozenset[str] = frozenset()


def read_row(text: str) -> tuple[Row, frozenset[str]]:
    """Return the row in a JSON text, and its keys with nested values. Raises BadRecordError."""
    try:
        row, nested = _flat(text) if text.count("{") == 1 and "[" not in text else _nested(text)
    except json.JSONDecodeError as error:
        raise BadRecordError(f"not valid JSON: {error.msg} at character {error.pos + 1}") from error
    except RecursionError as error:
        raise BadRecordError("nested too deeply") from error
    if "\\u" in text:
        _require_unicode(row)
    return row, nested


def _flat(text: str) -> tuple[Row, frozenset[str]]:
    pairs = _PAIRS.decode(text)
    if not isinstance(pairs, list):
        raise BadRecordError("not a JSON object")
    row = dict(pairs)
    if len(row) != len(pairs):
        raise _repeated([key for key, _ in pairs])
    for key, value in pairs:
        if value is True or value is False:
            row[key] = _WORDS[value]
    return row, _NOTHING


def _nested(text: str) -> tuple[Row, frozenset[str]]:
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        _SKIM.decode(text)
        raise BadRecordError("not a JSON object")
    row: Row = {}
    nested = set()
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        key, at = _key(text, at)
        if key in row:
            raise _repeated([key, key])
        if text[at : at + 1] in ("{", "["):
            nested.add(key)
        row[key], at = _value(text, at)
        at = _skip(text, at)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
            _expect(text, at, '"')
        else:
            _expect(text, at, "}")
    if _skip(text, at + 1) != len(text):
        raise json.JSONDecodeError("Extra data", text, at + 1)
    return row, frozenset(nested)


def _key(text: str, at: int) -> tuple[str, int]:
    _expect(text, at, '"')
    key, at = scanstring(text, at + 1, True)
    at = _skip(text, at)
    _expect(text, at, ":")
    return key, _skip(text, at + 1)


def _value(text: str, at: int) -> tuple[str | None, int]:
    try:
        value, end = _SKIM.scan_once(text, at)  # type: ignore[attr-defined]  # typeshed lacks it
    except StopIteration as error:
        raise json.JSONDecodeError("Expecting value", text, at) from error
    if text[at] in "{[":
        return text[at:end], end
    return (_WORDS[value] if isinstance(value, bool) else value), end


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _expect(text: str, at: int, sign: str) -> None:
    if text[at : at + 1] != sign:
        raise json.JSONDecodeError(f"Expecting {sign}", text, at)


def _repeated(keys: Sequence[str]) -> BadRecordError:
    times = Counter(keys)
    return BadRecordError(f"the key {next(key for key in keys if times[key] > 1)!r} is repeated")


def _require_unicode(row: Row) -> None:
    """Raise for half a surrogate pair, which an escape can spell and which is not text."""
    try:
        for key, value in row.items():
            key.encode()
            (value or "").encode()
    except UnicodeEncodeError as error:
        raise BadRecordError("an escape is an incomplete surrogate pair") from error


@dataclass(slots=True)
class FieldsFound:
    """The keys of all rows in order of first appearance. A key whose values are all nested or NULL has the type
    `json`."""

    _nested: dict[str, bool | None] = field(default_factory=dict)
    _plain: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        return len(self._nested)

    def add(self, row: Row, nested: frozenset[str]) -> None:
        if row.keys() <= self._plain:
            return
        for key, value in row.items():
            if value is None:
                self._nested.setdefault(key, None)
            elif key in nested:
                self._nested[key] = self._nested.get(key) is not False
            else:
                self._nested[key] = False
                self._plain.add(key)

    def fields(self) -> tuple[SourceField, ...]:
        return tuple(
            SourceField(key, ColumnType("json") if nested else STRING, only_null=nested is None)
            for key, nested in self._nested.items()
        )


def columns_of(rows: Sequence[Row], names: Iterable[str]) -> dict[str, pa.Array]:
    """Return rows as text columns; an absent key is NULL. A key that no row has is omitted."""
    found: set[str] = set().union(*rows)
    return {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names if name in found}
