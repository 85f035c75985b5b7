"""Parses JSON text strictly, and records the position of every value. Independent of pipelines."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.limits import MAX_DEPTH, MAX_SAFE_INTEGER, MAX_VALUES
from ir.pointers import ROOT, Pointer

_SPACE = re.compile(r"[ \t\r\n]*+")
# Repeated groups are in (?>…): before Python 3.11.5, a possessive repeat of a group reports a wrong position.
_STRING = re.compile(r'"[^"\\\x00-\x1f]*+(?>(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*)"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORD = re.compile(r"-?[A-Za-z_][A-Za-z0-9_]*+")
_CONSTANTS = {"true": True, "false": False, "null": None}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
_LONGEST_NUMBER = 400


class JsonSyntaxError(ValueError):
    """The text cannot be parsed beyond `offset`, counted in characters."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(message)
        self.code, self.offset = code, offset


class JsonReader:
    """Parses one text. `faults` are errors that do not stop the parser, `offsets` the positions of values (for members,
    of their keys)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.faults: list[Diagnostic] = []
        self.offsets: dict[Pointer, int] = {ROOT: 0}

    def read(self) -> Any:
        """Return the value of the whole text; raises JsonSyntaxError."""
        self._skip_space()
        value = self._value(ROOT)
        self._skip_space()
        if self.at < len(self.text):
            self._fail(f"After the document, found {self._next()}")
        return value

    def _value(self, pointer: Pointer) -> Any:
        spend(10)
        if len(pointer) > MAX_DEPTH:
            raise JsonSyntaxError("document.too_deep", f"Values are nested more than {MAX_DEPTH} levels deep.", self.at)
        if len(self.offsets) > MAX_VALUES:
            raise JsonSyntaxError("document.too_large", f"There are more than {MAX_VALUES} values.", self.at)
        match self.text[self.at : self.at + 1]:
            case "{":
                return self._object(pointer)
            case "[":
                return self._array(pointer)
            case '"':
                return self._string()
            case _:
                return self._scalar(pointer)

    def _object(self, pointer: Pointer) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while self._has_next("{" if not found else ",", "}"):
            key_at = self.at
            if self.text[key_at : key_at + 1] != '"':
                self._fail(f"A key in double quotes expected, but found {self._next()}")
            key = self._string()
            self._expect(":")
            member = pointer / key
            self._note_repeated(key, member, key_at, key in found)
            found[key] = self._value(member)
        return found

    def _note_repeated(self, key: str, member: Pointer, key_at: int, repeated: bool) -> None:
        if repeated:
            self.faults.append(diagnose("document.repeated_key", member, f"The key {shown(key)} is repeated."))
        self.offsets[member] = key_at

    def _array(self, pointer: Pointer) -> list[Any]:
        found: list[Any] = []
        while self._has_next("[" if not found else ",", "]"):
            item = pointer / len(found)
            self.offsets[item] = self.at
            found.append(self._value(item))
        return found

    def _has_next(self, opening: str, closing: str) -> bool:
        """Return whether another member or item follows. Skips the opening character or comma, or the closing
        character."""
        self._skip_space()
        sign = self.text[self.at : self.at + 1]
        if opening == "," and sign == closing:
            self.at += 1
            return False
        self._expect(opening)
        if opening != "," and self.text[self.at : self.at + 1] == closing:
            self.at += 1
            return False
        return True

    def _expect(self, sign: str) -> None:
        self._skip_space()
        if not self.text.startswith(sign, self.at):
            self._fail(f"expected {sign!r}, but found {self._next()}")
        self.at += 1
        self._skip_space()

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            self._fail(
                "The text in quotes is not closed, or contains a line break, a control character or an invalid escape"
            )
        self.at = match.end()
        token = match[0]
        return str(json.loads(token)) if "\\" in token else token[1:-1]

    def _scalar(self, pointer: Pointer) -> Any:
        if word := _WORD.match(self.text, self.at):
            return self._constant(word[0], word.end(), pointer)
        if (number := _NUMBER.match(self.text, self.at)) is None:
            self._fail(f"A value expected, but found {self._next()}")
        self.at = number.end()
        if not is_exact(number[0]):
            self.faults.append(not_exact(pointer, number[0]))
            return 0
        return int(number[0]) if number[1] is None and number[2] is None else float(number[0])

    def _constant(self, word: str, end: int, pointer: Pointer) -> Any:
        if word in _NOT_FINITE:
            self.faults.append(not_finite(pointer, word))
        elif word not in _CONSTANTS:
            self._fail(f"{shown(word)} is not a value. Put text in double quotes")
        self.at = end
        return _CONSTANTS.get(word, 0)  # 0 for a number that was reported as a fault

    def _skip_space(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def _next(self) -> str:
        return shown(self.text[self.at : self.at + 12]) if self.at < len(self.text) else "the end of the text"

    def _fail(self, message: str) -> NoReturn:
        raise JsonSyntaxError("document.syntax", message + ".", self.at)


def is_exact(number: str) -> bool:
    """Return whether a double, and thus every JSON parser, represents exactly the number of these digits."""
    if len(number) > _LONGEST_NUMBER:
        return False
    if number.lstrip("-+").isdecimal():
        return abs(int(number)) <= MAX_SAFE_INTEGER
    value = float(number)
    try:
        return math.isfinite(value) and Decimal(number) == Decimal(repr(value))
    except InvalidOperation:
        return False  # the exponent is too long, such as 1e-99999999999999999999


def not_exact(pointer: Pointer, number: str) -> Diagnostic:
    fix = [{"op": "replace", "path": str(pointer), "value": number}]
    return diagnose("number.not_exact", pointer, f"A double cannot store {shown(number)} exactly.", fixes=[fix])


def not_finite(pointer: Pointer, number: str) -> Diagnostic:
    return diagnose("number.not_finite", pointer, f"{number} is not a number.")
