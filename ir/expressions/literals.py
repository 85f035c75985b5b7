"""Decodes and encodes Spark's text literals by a grammar that is stricter than Spark's.

Spark silently drops the backslash of an unknown escape (`'\\d'` is `d`), which changes a regular expression. Such
escapes are refused here.
"""

from __future__ import annotations

import re

_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t", "r": "\r", "b": "\b", "%": "\\%", "_": "\\_"}
_ENCODED = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b"}
_TO_ENCODE = re.compile(r"\\[%_]|[\\'\n\r\t\x08]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)


def decode_literal(written: str) -> str:
    """Decode a literal, quotes included; raises ValueError."""
    quote, body = written[0], written[1:-1]
    if quote not in "'\"" or written[-1] != quote or len(written) < 2:
        raise ValueError("Only plain text literals in quotes are allowed")
    return _ESCAPE.sub(_decode, body)


def _decode(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    if escape not in _ESCAPES:
        raise ValueError(f"The escape \\{escape} means {escape} in Spark")
    return _ESCAPES[escape]


def encode_literal(text: str) -> str:
    """Encode a text as a literal. `\\%` and `\\_` are written unchanged, because LIKE reads them as escapes."""
    return "'" + _TO_ENCODE.sub(lambda match: _ENCODED.get(match[0], match[0]), text) + "'"
