"""Convert the text of form fields to JSON values, and back.

Nothing is refused here: invalid values are written to the document, and the parser reports them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from flowapp.web.schema_tree import MISSING, Schema

TEXT_OR_OBJECT = ["string", "object"]
"""The type of a value that is entered as text, or as JSON in braces."""
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


def read_value(schema: Schema, text: str) -> Any:
    """Return the value of a text field's content for a schema; MISSING if it is empty."""
    if text == "":
        return MISSING
    kind = schema.get("type", "string")
    if kind == "string":
        return text
    if kind in ("number", "integer"):
        return _read_number(text)
    if kind == "object" or (kind == TEXT_OR_OBJECT and text.startswith("{")):
        return _read_json(text)
    if kind == TEXT_OR_OBJECT:
        return text
    return _read_scalar(text)


def read_lines(schema: Schema, lines: Iterable[str]) -> list[Any]:
    """Return the values of the lines for the schema of the items. Empty lines are ignored."""
    return [read_value(schema, line) for line in lines if line != ""]


def read_map(schema: Schema, keys: Sequence[str], values: Sequence[str]) -> dict[str, Any]:
    """Return the map of rows with key and value. Rows without a key are ignored."""
    pairs = {key: read_value(schema, value) for key, value in zip(keys, values, strict=False) if key}
    return {key: "" if value is MISSING else value for key, value in pairs.items()}


def _read_number(text: str) -> Any:
    trimmed = text.strip()
    match = _NUMBER.fullmatch(trimmed)
    if match is None or len(trimmed) > 400:
        return text
    return int(trimmed) if match[2] is None and match[3] is None else _finite(float(trimmed), text)


def _finite(number: float, text: str) -> Any:
    return number if abs(number) != float("inf") else text


def _read_scalar(text: str) -> Any:
    """Read a number, true or false; anything else, and anything in quotes, is text."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    return {"true": True, "false": False}.get(text, _read_number(text))


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def text_of(value: Any, kind: str | list[str]) -> str:
    """Return the text that `read_value` converts to this value."""
    shown = plain_text(value)
    if (
        kind != TEXT_OR_OBJECT
        and isinstance(kind, list)
        and isinstance(value, str)
        and (value == "" or _read_scalar(shown) != value)
    ):
        return f'"{shown}"'
    return shown


def plain_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
