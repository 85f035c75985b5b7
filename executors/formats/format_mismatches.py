"""Guesses from the first bytes of a file which format settings do not fit it: encoding, delimiter, kind.

The guesses are used only in messages; no file is read with a guessed setting.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import StringIO
from itertools import islice
from typing import Any

from executors.errors import Failure, InvalidContent, Terminal
from executors.formats.compression import TextContent
from executors.formats.files import FileStore
from executors.formats.separator_line import split_separator_line
from executors.model import SourceFile
from ir.formats import Delimited, FixedWidth, Json, Jsonl

HEAD_BYTES = 64 << 10
"""How many bytes of a file are examined."""

SETTINGS_HINT = "Correct the format of the source, and run again. The file is not moved."

_FILES, _RECORDS = 5, 50
_DELIMITERS = {";": "';'", ",": "','", "\t": "a tab", "|": "'|'"}

_LATIN = "äöüßéèêëàâáåãæçíìîïñóòôøõúùûýÿœðþ§€£°„“”‘’–—…«»©®ª" + "\xa0"
_EASTERN = "áâäąćčçďđéęëěíîłľĺńňóôöőŕřśšşßťţúůüűýźžżăô„“”–’ˇ€§°" + "\xa0"
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёєіїґ«»№–—„“”" + "\xa0"
_LIKELY = (
    ("cp1252", "Windows-1252", _LATIN),
    ("cp1250", "Windows-1250", _EASTERN),
    ("cp1251", "Windows-1251", _CYRILLIC),
    ("koi8-r", "KOI8-R", _CYRILLIC),
    ("cp850", "cp850", _LATIN),
    ("mac-roman", "Mac Roman", _LATIN),
)
"""Encodings in order of likelihood: Python's name, the usual name, and the characters that are common in it."""
_MIN_RATIO = 0.9


def find_mismatches(head: bytes, fmt: Any) -> tuple[str, ...]:
    """Return mismatches as phrases that can follow `It is` or stand on their own, such as `not UTF-8, looks like
    Windows-1252`."""
    encoding = getattr(fmt, "encoding", "utf-8")
    head = _whole_lines(head)
    text, mismatches = _text(head, encoding), []
    if text is None:
        name, looks = guess_encoding(head)
        mismatches.append(f"not {_shown(encoding)}{f', looks like {looks}' if looks else ''}")
        text = head.decode(name or "latin-1", "replace")
    if isinstance(fmt, Delimited):
        mismatches += _delimiter_mismatches(split_separator_line(text)[1], fmt)
    elif isinstance(fmt, Jsonl) and text.lstrip().startswith("["):
        mismatches.append("a JSON array (format json), not one object per line")
    return tuple(mismatches)


def mismatches_of(files: Iterable[SourceFile], fmt: Any, store: FileStore) -> tuple[str, ...]:
    """Return the mismatches in the first files of a format, without repetitions. Unreadable files are ignored."""
    found: dict[str, None] = {}
    if isinstance(fmt, Delimited | FixedWidth | Json | Jsonl):
        for file in islice(files, _FILES):
            with suppress(Failure):
                with store.open(file) as stream:
                    head = TextContent.of(stream, file).head(HEAD_BYTES)
                found |= dict.fromkeys(find_mismatches(head, fmt))
    return tuple(found)


@contextmanager
def blaming_settings(mismatches: Sequence[str]) -> Iterator[None]:
    """Add the mismatches to failures within the block and attribute them to the format's settings. The file itself may
    be valid, so it is not moved."""
    try:
        yield
    except InvalidContent as refusal:
        if not mismatches:
            raise
        message = f"{refusal.message} The format's settings may be wrong: {'; '.join(mismatches)}."
        raise Terminal(refusal.code, message, hint=SETTINGS_HINT) from refusal


def guess_encoding(head: bytes) -> tuple[str, str]:
    """Return Python's name of the probable encoding, and its usual name; empty texts if no encoding is probable."""
    if wide := _wide(head):
        return wide, wide.upper()
    ratios = [_ratio(head, encoding, signs) for encoding, _, signs in _LIKELY]
    best = max(ratios)
    if best < _MIN_RATIO:
        return "", ""
    # Several encodings may read these bytes alike. Later files may differ, so the most likely one is used.
    text = head.decode(_LIKELY[ratios.index(best)][0], "replace")
    return next(
        (encoding, usual)
        for (encoding, usual, _), ratio in zip(_LIKELY, ratios, strict=True)
        if ratio >= _MIN_RATIO and head.decode(encoding, "replace") == text
    )


def _wide(head: bytes) -> str:
    """Return the UTF-16 encoding of bytes with a byte order mark, or in which every other byte is 0, as in plain
    text."""
    for bom, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(bom):
            return name
    half = len(head) // 2
    if half and head[1::2].count(0) > half * 0.6:
        return "utf-16-le"
    return "utf-16-be" if half and head[0::2].count(0) > half * 0.6 else ""


def _ratio(head: bytes, encoding: str, signs: str) -> float:
    """Return the share of non-ASCII characters that would be common characters in plausible positions in this
    encoding."""
    text = f" {head.decode(encoding, 'replace')} "
    beyond = [index for index, sign in enumerate(text) if not sign.isascii()]
    likely = sum(_is_likely(text[index - 1], text[index], text[index + 1], signs) for index in beyond)
    return likely / len(beyond) if beyond else 0.0


def _is_likely(before: str, sign: str, after: str, signs: str) -> bool:
    """A character is plausible if no capital follows a small letter, only an apostrophe is between letters, and, in
    mostly ASCII scripts, letters beyond ASCII are not adjacent."""
    if sign.lower() not in signs:
        return False
    if not sign.isalpha():
        return sign == "’" or not (before.isalpha() and after.isalpha())
    if sign.isupper() and before.islower():
        return False
    return signs is _CYRILLIC or before.isascii() or after.isascii()


def _whole_lines(head: bytes) -> bytes:
    """Return the head without a last line that may be incomplete, even within a character."""
    end = head.rfind(b"\n")
    return head[: end + 1] if end >= 0 and len(head) >= HEAD_BYTES else head


def _text(head: bytes, encoding: str) -> str | None:
    """Return the text, or None if the bytes are invalid in the encoding or contain NUL."""
    try:
        text = head.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    return None if "\0" in text else text


def _shown(encoding: str) -> str:
    return encoding.upper() if encoding.lower().startswith("utf") else encoding


def _delimiter_mismatches(text: str, fmt: Delimited) -> list[str]:
    if _widths(text, fmt.delimiter, fmt.quote, most=1) != [1]:
        return []
    for delimiter, shown in _DELIMITERS.items():
        widths = _widths(text, delimiter, fmt.quote)
        if delimiter != fmt.delimiter and widths[0] > 1 and widths.count(widths[0]) >= len(widths) * _MIN_RATIO:
            return [f"one column, {shown} looks like the delimiter"]
    return []


def _widths(text: str, delimiter: str, quote: str, most: int = _RECORDS) -> Sequence[int]:
    """Return the numbers of cells of the first records; none if these settings cannot read the file."""
    if delimiter == quote:
        return [0]
    records = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, quotechar=quote)
    try:
        return [len(record) for record in islice((record for record in records if record), most)] or [0]
    except csv.Error:
        return [0]
