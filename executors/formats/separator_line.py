"""The line `sep=;` that spreadsheet programs write before the records of a CSV file. It names the delimiter and is no
record."""

from __future__ import annotations

import re

_LINE = r'("?)[sS][eE][pP]=([^\w"\r\n])\1'
_RECORD = re.compile(_LINE.encode())
_FIRST_LINE = re.compile(rf"\ufeff?{_LINE}(?:\r\n|\r|\n|$)", re.ASCII)


def is_separator_line(record: bytes) -> bool:
    """Whether the first record of a file, without its line end, is such a line."""
    return bool(_RECORD.fullmatch(record))


def split_separator_line(text: str) -> tuple[str, str]:
    """The delimiter that the first line names, '' if it names none, and the text below that line."""
    line = _FIRST_LINE.match(text)
    return (line[2], text[line.end() :]) if line else ("", text)
