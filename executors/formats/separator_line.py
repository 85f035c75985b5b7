"""The line `sep=;` that spreadsheet programs write before the records of a CSV file. It names the delimiter and is not
a record."""

from __future__ import annotations

import re

_LINE = r'("?)[sS][eE][pP]=([^\w"\r\n])\1'
_RECORD = re.compile(_LINE.encode())
_FIRST_LINE = re.compile(rf"\ufeff?{_LINE}(?:\r\n|\r|\n|$)", re.ASCII)


def is_separator_line(record: bytes) -> bool:
    """Return whether the first record of a file, without its line end, is such a line."""
    return bool(_RECORD.fullmatch(record))


def split_separator_line(text: str) -> tuple[str, str]:
    """Return the delimiter that the first line names ('' if none), and the text after that line."""
    line = _FIRST_LINE.match(text)
    return (line[2], text[line.end() :]) if line else ("", text)
