"""The messages of structural errors, for all modules that find them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir.diagnostics import Diagnostic, diagnose, listed, shown
from ir.pointers import Pointer
from ir.spelling import guess

_JSON_TYPES = {dict: "object", list: "list", str: "text", bool: "boolean", int: "integer", float: "number"}
_NAMES = {"string": "text", "array": "list", "null": "null"}


def missing(at: Pointer, name: str) -> Diagnostic:
    """Return the diagnostic for a field that the object at `at` lacks. Its path is the position of the missing
    field."""
    return diagnose("field.missing", at / name, f"The field {name} is missing.")


def empty(at: Pointer, form: str = "") -> Diagnostic:
    """Return the diagnostic for an empty text where a value is required. `form` says what to enter."""
    what = f"The field {at[-1]} is" if at and isinstance(at[-1], str) else "This item is"
    return diagnose("value.empty", at, f"{what} empty.", hint=f"A value is required. {form}" if form else "")


def wrong_length(at: Pointer, value: Any, least: int | None, most: int | None) -> Diagnostic:
    """Return the diagnostic for a text, list or object that is shorter than `least`, or longer than `most` if `least`
    is None."""
    if value in ([], {}) and at and isinstance(at[-1], str):
        message = f"There are no {at[-1]} yet." if at[-1].endswith("s") else f"There is nothing in {at[-1]} yet."
        return diagnose("value.length", at, message, hint=f"At least {least} is required.")
    bound = f"at least {least}" if least is not None else f"at most {most}"
    return diagnose("value.length", at, f"{shown(value)} needs a length of {bound}.")


def unknown_field(at: Pointer, name: str, known: Sequence[str]) -> Diagnostic:
    """Return the diagnostic for an unknown field of the object at `at`."""
    near = guess(name, known)
    guessed = f" Did you mean {near}?" if near else ""
    hint = f"Known fields: {listed(known)}." if known else ""
    fixes = [[{"op": "move", "from": str(at / name), "path": str(at / near)}]] if near else []
    fixes.append([{"op": "remove", "path": str(at / name)}])
    message = f"Unknown field {shown(name)}.{guessed}"
    return diagnose("field.unknown", at / name, message, hint=hint, fixes=fixes)


def wrong_type(at: Pointer, value: Any, expected: str) -> Diagnostic:
    """Return the diagnostic for a value with a wrong JSON type. `expected` uses the words of JSON Schema."""
    words = " or ".join(_NAMES.get(word, word) for word in expected.split(" or "))
    found = _JSON_TYPES.get(type(value), "null")
    return diagnose("value.type", at, f"{shown(value)} has the type {found}. Expected: {words}.")


def not_allowed(at: Pointer, value: Any, allowed: Sequence[Any]) -> Diagnostic:
    """Return the diagnostic for a value that is not one of the allowed values."""
    near = guess(value, [word for word in allowed if isinstance(word, str)])
    guessed = f" Did you mean {near}?" if near else ""
    return diagnose(
        "value.not_allowed",
        at,
        f"{shown(value)} is not one of {listed(map(str, allowed))}.{guessed}",
        fixes=[[{"op": "replace", "path": str(at), "value": near}]] if near else [],
    )
