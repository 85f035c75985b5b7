"""The first phase of parsing: text or parsed values become one plain JSON document, with the positions of its parts."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from ir.budget import spend
from ir.diagnostics import Diagnostic, InvalidPipeline, diagnose, shown
from ir.json_text import JsonReader, JsonSyntaxError, not_exact, not_finite
from ir.limits import MAX_BYTES, MAX_DEPTH, MAX_SAFE_INTEGER, MAX_VALUES
from ir.pointers import ROOT, Pointer
from ir.toml_positions import find_offsets
from ir.toml_text import TomlSyntaxError, TomlTooLarge, read_toml

Syntax = Literal["json", "toml"]
TextPosition = tuple[int, int]
"""A line and a column, from 1."""


@dataclass(frozen=True)
class Document:
    """The plain value of a document, the errors found while reading it, and the positions of its parts in the text."""

    value: Any
    faults: list[Diagnostic] = field(default_factory=list)
    position_of: Callable[[Pointer], TextPosition] | None = None

    def with_position(self, diagnostic: Diagnostic) -> Diagnostic:
        """Add line and column to a diagnostic: those of its part, or of the nearest part that the text contains."""
        if self.position_of is None or diagnostic.line is not None:
            return diagnostic
        line, column = self.position_of(diagnostic.path)
        return replace(diagnostic, line=line, column=column)


def read_document(document: str | bytes | dict[str, Any], syntax: Syntax = "json") -> Document:
    """Read a document; raises InvalidPipeline if it cannot be read at all."""
    if not isinstance(document, str | bytes):
        return _plain(document)
    text = read_text(document)
    return _read_toml(text) if syntax == "toml" else _read_json(text)


def read_text(document: str | bytes) -> str:
    """Return the text of a file; raises InvalidPipeline."""
    if len(document) > MAX_BYTES:
        raise _stop("document.too_large", f"The document is larger than {MAX_BYTES} bytes.", 1, 1)
    try:
        text = document.decode() if isinstance(document, bytes) else document
    except UnicodeDecodeError as error:
        # The bytes before this one are valid UTF-8.
        before = error.object[: error.start].decode()
        line, column = _Offsets(before, {}).at(len(before))
        raise _stop("document.encoding", f"Byte {error.start} of the document is not UTF-8.", line, column) from error
    return text.removeprefix("\ufeff")


def _read_json(text: str) -> Document:
    reader = JsonReader(text)
    positions = _Offsets(text, reader.offsets)
    try:
        value = reader.read()
    except JsonSyntaxError as error:
        line, column = positions.at(error.offset)
        raise _stop(error.code, str(error), line, column) from error
    document = _plain(value)
    return Document(document.value, [*reader.faults, *document.faults], positions)


def _read_toml(text: str) -> Document:
    try:
        value = read_toml(text)
    except TomlTooLarge as error:
        raise _stop(error.code, str(error), *_Offsets(text, {}).at(error.offset)) from error
    except TomlSyntaxError as error:
        code = "document.repeated_key" if error.is_repeated_key else "document.syntax"
        line, column = (error.line, error.column) if error.line else _Offsets(text, {}).at(len(text))
        raise _stop(code, f"{error}.", line, column) from error
    except RecursionError as error:
        raise _stop("document.too_deep", f"Values are nested more than {MAX_DEPTH} levels deep.", 1, 1) from error
    document = _plain(value)
    return Document(document.value, document.faults, _TomlPositions(text))


def _stop(code: str, message: str, line: int | None = None, column: int | None = None) -> InvalidPipeline:
    return InvalidPipeline([replace(diagnose(code, ROOT, message), line=line, column=column)])


class _Offsets:
    """Converts pointers to lines and columns with the offsets from the reader."""

    def __init__(self, text: str, offsets: dict[Pointer, int]) -> None:
        self._offsets = offsets
        self._line_starts = [0, *(i + 1 for i, sign in enumerate(text) if sign == "\n")]

    def __call__(self, pointer: Pointer) -> TextPosition:
        return self.at(_nearest(self._offsets, pointer))

    def at(self, offset: int) -> TextPosition:
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1


class _TomlPositions:
    """Converts pointers to lines and columns. The text is scanned when the first position is needed."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, pointer: Pointer) -> TextPosition:
        return self._offsets(pointer)

    @cached_property
    def _offsets(self) -> _Offsets:
        return _Offsets(self._text, find_offsets(self._text))


def _nearest(known: dict[Pointer, int], pointer: Pointer) -> int:
    """Return the entry of the pointer, or of the nearest parent that has one."""
    while pointer not in known:
        pointer = pointer.parent
    return known[pointer]


# --- parsed values -------------------------------------------------------------------------


def _plain(value: Any) -> Document:
    """Copy a value to plain JSON types. A value that JSON cannot represent is an error, and None in the copy."""
    copier = _Copier()
    copy = copier.copy(value, ROOT)
    return Document(copy, copier.faults)


class _Copier:
    def __init__(self) -> None:
        self.faults: list[Diagnostic] = []
        self._values = 0

    def copy(self, value: Any, at: Pointer) -> Any:
        self._values += 1
        spend(5)
        if self._values > MAX_VALUES:
            raise _stop("document.too_large", f"There are more than {MAX_VALUES} values.")
        if len(at) > MAX_DEPTH:
            self.faults.append(
                diagnose("document.too_deep", at, f"Values are nested more than {MAX_DEPTH} levels deep.")
            )
            return None
        if isinstance(value, dict):
            return {self._key(key, at): self.copy(item, at / str(key)) for key, item in value.items()}
        if isinstance(value, list):
            return [self.copy(item, at / i) for i, item in enumerate(value)]
        if type(value) is str and _is_storable(value):
            return value
        self.faults.extend(_scalar_faults(value, at))
        return _as_plain(value)

    def _key(self, key: Any, at: Pointer) -> str:
        if not isinstance(key, str):
            self.faults.append(diagnose("value.not_json", at, f"The key {shown(key)} is not a text."))
        name = str(key)
        if not _is_storable(name):
            self.faults.append(_not_storable(name, at / name))
        return _storable(name)


def _as_plain(value: Any) -> Any:
    """Return the value as a plain JSON type, or None if JSON has no such type."""
    if isinstance(value, str):
        return _storable(value)
    if isinstance(value, bool):
        return bool(value)
    if isinstance(value, int):
        return int(value) if abs(value) <= MAX_SAFE_INTEGER else None
    return float(value) if isinstance(value, float) and math.isfinite(value) else None


def _scalar_faults(value: Any, at: Pointer) -> Iterator[Diagnostic]:
    match value:
        case None:
            yield diagnose("value.null", at, "null is not allowed here.", fixes=[[{"op": "remove", "path": str(at)}]])
        case bool():
            return
        case str():
            if not _is_storable(value):
                yield _not_storable(value, at)
        case int() if abs(value) > MAX_SAFE_INTEGER:
            yield not_exact(at, str(value) if value.bit_length() < 1000 else "an integer of that size")
        case float() if not math.isfinite(value):
            yield not_finite(at, str(value))
        case Decimal():
            yield not_exact(at, str(value))
        case date() | time():
            fix = [{"op": "replace", "path": str(at), "value": value.isoformat()}]
            yield diagnose(
                "value.not_json", at, f"{value.isoformat()} is a date or time, which JSON does not have.", fixes=[fix]
            )
        case int() | float():
            return
        case _:
            yield diagnose("value.not_json", at, f"A value of type {type(value).__name__} is not JSON.")


_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def _is_storable(text: str) -> bool:
    return _NOT_STORABLE.search(text) is None


def _not_storable(text: str, at: Pointer) -> Diagnostic:
    what = "a NUL character" if "\x00" in text else "an incomplete surrogate pair"
    return diagnose("text.not_storable", at, f"The text contains {what}.")


def _storable(text: str) -> str:
    """Replace characters that were reported as errors, so that later phases can continue."""
    return _NOT_STORABLE.sub("\ufffd", text)
