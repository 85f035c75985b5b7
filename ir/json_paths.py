"""JSONPath with at most one result: `$`, names and indexes (the singular queries of RFC 9535)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ir.budget import spend
from ir.diagnostics import Diagnostic, diagnose, shown
from ir.pointers import Pointer

Step = str | int
"""A key of an object, or an index of an array. Negative indexes count from the end."""

_NAME = re.compile(r"\.([A-Za-z_\u0080-\U0010ffff][0-9A-Za-z_\u0080-\U0010ffff]*)")
_INDEX = re.compile(r"\[(0|-?[1-9][0-9]{0,14})\]")
_QUOTED = re.compile(r"""\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]""", re.DOTALL)
_ESCAPE = re.compile(r"\\.|\"", re.DOTALL)


def parse_json_path(text: str) -> tuple[Step, ...]:
    """Return the steps of a path. Raises ValueError with what is wrong."""
    spend(20 + 2 * len(text))
    if not text.startswith("$"):
        raise ValueError("A path begins with $.")
    steps: list[Step] = []
    at = 1
    while at < len(text):
        step, at = _step(text, at)
        steps.append(step)
    return tuple(steps)


def _step(text: str, at: int) -> tuple[Step, int]:
    if match := _NAME.match(text, at):
        return match[1], match.end()
    if match := _INDEX.match(text, at):
        return int(match[1]), match.end()
    if match := _QUOTED.match(text, at):
        return _unquoted(match), match.end()
    raise ValueError(f"At character {at + 1}, expected .name, ['name'] or [0].")


def _unquoted(match: re.Match[str]) -> str:
    """Return a quoted name with JSON escapes resolved. Single quotes may also be escaped."""
    written = match[1]
    if written is None:
        written = _ESCAPE.sub(lambda found: {"\\'": "'", '"': '\\"'}.get(found[0], found[0]), match[2])
    try:
        name: str = json.loads(f'"{written}"')
        name.encode()
    except ValueError as error:
        raise ValueError(f"The name {match[0]} has an escape that JSON does not have.") from error
    return name


def check_json_path(text: str, at: Pointer) -> Iterator[Diagnostic]:
    try:
        parse_json_path(text)
    except ValueError as error:
        yield diagnose("json_path.malformed", at, f"{shown(text)} is not a path. {error}")
