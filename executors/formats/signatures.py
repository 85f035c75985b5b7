"""Recognizes files of unsupported formats by their first bytes, so that they are refused by name instead of read as
text."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD_BYTES = 64


@dataclass(frozen=True, slots=True)
class Signature:
    """A kind of file: its first bytes, its usual name, and advice."""

    head: re.Pattern[bytes]
    name: str
    advice: str


_AS_CSV = "Save each sheet as CSV (UTF-8)."
_UNPACK = "Unpack it first."
_CONVERT = "Convert it."

SIGNATURES = tuple(
    Signature(re.compile(head, re.DOTALL), name, advice)
    for head, name, advice in (
        (
            rb"PK(?:\x05\x06|\x03\x04.{26}(?!\[Content_Types\]|_rels/|xl/|docProps/))",
            "a ZIP archive",
            "Give it a name that ends with .zip, or unpack it.",
        ),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook in the format before 2007", _AS_CSV),
        (rb"\xfd7zXZ\x00", "compressed with xz", _UNPACK),
        (rb"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
        (rb"Rar!\x1a\x07", "a RAR archive", _UNPACK),
        (rb"%PDF-\d", "a PDF document", _CONVERT),
        (rb"SQLite format 3\x00", "a SQLite database", "Read it with a source of the connector sqlite."),
        (rb".{8}DUCK", "a DuckDB database", "Read it with a source of the connector duckdb."),
        (rb"ARROW1\x00\x00", "an Arrow file", _CONVERT),
        (rb"(?i)(?:\xef\xbb\xbf)?<!doctype html", "an HTML page", _CONVERT),
    )
)


def unreadable_kind(head: bytes) -> Signature | None:
    """Return the kind of a file with this head if it is unsupported, else None. `head` needs `HEAD_BYTES` bytes."""
    return next((known for known in SIGNATURES if known.head.match(head)), None)
