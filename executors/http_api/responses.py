"""Finds values in the JSON text of a response. Records are returned as they are written, so that numbers stay exact."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed lacks it
from typing import Any

from ir.json_paths import Step

_KINDS = {"{": "object", "[": "array", "t": "true"}
_NOTHING = re.compile(r'null|false|0|""|\[\s*\]|\{\s*\}')
_SPACE = re.compile(r"[ \t\n\r]*")
_BREAK = re.compile(r"[\n\r]")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a JSON value")


_SKIM = json.JSONDecoder(object_pairs_hook=lambda pairs: None, parse_int=len, parse_float=len, parse_constant=_refuse)
"""Finds the end of a value without keeping it."""


class NotJson(Exception):
    """The text is not JSON. The message gives the reason without values."""


def check_json(text: str) -> None:
    """Raise NotJson unless the text is one JSON value."""
    try:
        _SKIM.decode(text)
    except json.JSONDecodeError as error:
        raise NotJson(f"{error.msg} at character {error.pos + 1:,}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    except RecursionError:
        raise NotJson("it is nested too deeply") from None


def value_at(text: str, path: Sequence[Step]) -> str | None:
    """Return the text of the value at a path of a valid JSON text; None if there is no such value. Of repeated keys,
    the last one counts."""
    start: int | None = _skip(text, 0)
    for step in path:
        if start is None:
            return None
        start = _member(text, start, step) if isinstance(step, str) else _element(text, start, step)
    if start is None:
        return None
    return text[start : _end(text, start)]


def scalar_at(text: str, path: Sequence[Step]) -> str | None:
    """Return the value at a path as text: a string without its quotes, or a number as it is written. Return None if
    there is none, or if it is null, empty, or another kind of value."""
    found = value_at(text, path)
    if not found or found[0] in "{[ntf":
        return None
    return str(json.loads(found)) if found[0] == '"' else found


def next_at(text: str, path: Sequence[Step]) -> str | None:
    """Return what names the next page as text; None if there is none: null, false, empty, or no such value. Raises
    ValueError for another kind of value, which is probably at another path than it should."""
    found = value_at(text, path)
    if found is None or found in ("null", "false"):
        return None
    if found[0] in "{[t":
        raise ValueError(f"a JSON {_KINDS[found[0]]} instead of a text or a number")
    named = scalar_at(text, path)
    if named is not None:
        named.encode()
    return named or None


def has_error(text: str) -> bool:
    """Return whether a response says that the request has failed."""
    found = (value_at(text, (name,)) for name in ("error", "errors"))
    return any(value is not None and not _NOTHING.fullmatch(value) for value in found)


def records_of(value: str) -> Iterator[str]:
    """Yield the records of the text of a value, each in one line: the elements of a list, or one object."""
    if value[0] == "[":
        for start in _elements(value, 0):
            yield _BREAK.sub(" ", value[start : _end(value, start)])
    else:
        yield _BREAK.sub(" ", value)


def _member(text: str, at: int, key: str) -> int | None:
    if text[at] != "{":
        return None
    found, at = None, _skip(text, at + 1)
    while text[at] != "}":
        name, at = scanstring(text, at + 1, True)
        at = _skip(text, _skip(text, at) + 1)
        if name == key:
            found = at
        at = _after_comma(text, _end(text, at))
    return found


def _element(text: str, at: int, index: int) -> int | None:
    if text[at] != "[":
        return None
    places = list(_elements(text, at))
    return places[index] if -len(places) <= index < len(places) else None


def _elements(text: str, at: int) -> Iterator[int]:
    at = _skip(text, at + 1)
    while text[at] != "]":
        yield at
        at = _after_comma(text, _end(text, at))


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _end(text: str, at: int) -> int:
    found: tuple[Any, int] = _SKIM.scan_once(text, at)  # type: ignore[attr-defined]  # typeshed lacks it
    return found[1]


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
