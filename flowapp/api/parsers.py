"""Parse JSON bodies with limits: plain values, limited depth, and only text that a database can store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from ir.limits import MAX_DEPTH

MOST_LEVELS = 2 * MAX_DEPTH
"""Nesting levels: those of a document, and as many for the body around it."""


class BoundedJSONParser(JSONParser):
    """Answer 400 for JSON that fails in Python's parser or in the code that reads its result."""

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        try:
            value = super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise _too_deep() from None
        _check_depth(value)
        return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MOST_LEVELS):
        level = [part for holder in level for part in _parts(holder)]
        if not level:
            return
    raise _too_deep()


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _too_deep() -> ParseError:
    return ParseError(f"The body is nested more than {MOST_LEVELS} levels deep.", code="request.too_deep")
