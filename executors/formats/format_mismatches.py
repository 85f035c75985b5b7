"""Guesses from the first bytes of a file which format settings do not fit it: encoding, delimiter, kind.

For messages alone: nothing is ever read by a guess.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from executors.errors import Failure, InvalidContent, Terminal
from executors.formats.files import FileStore, first_bytes
from executors.formats.separator_line import split_separator_line
from executors.model import SourceFile
from ir.formats import Delimited, Json, Jsonl

HEAD_BYTES = 64 << 10
"""How much of a file is looked at."""

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
"""Encodings in their order of likelihood: Python's name, the usual name, and the signs that texts in it have."""
_MIN_RATIO = 0.9


def find_mismatches(head: bytes, fmt: Any) -> tuple[str, ...]:
    """In words that go on from `It is` or stand alone, such as `not UTF-8, looks like Windows-1252`."""
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
    """The mismatches in some files of a format, each once; none where the files are gone, or no text."""
    found: dict[str, None] = {}
    if isinstance(fmt, Delimited | Json | Jsonl):
        for file in islice(files, _FILES):
            with suppress(Failure):
                found |= dict.fromkeys(find_mismatches(first_bytes(file, HEAD_BYTES, store), fmt))
    return tuple(found)


@contextmanager
def blaming_settings(mismatches: Sequence[str]) -> Iterator[None]:
    """Attribute refusals within the block to the format's settings if there are mismatches: the file itself may be
    valid, so it stays where it is."""
    try:
        yield
    except InvalidContent as refusal:
        if not mismatches:
            raise
        message = f"{refusal.message} The format's settings may be wrong: {'; '.join(mismatches)}."
        raise Terminal(refusal.code, message, hint=SETTINGS_HINT) from refusal


def guess_encoding(head: bytes) -> tuple[str, str]:
    """Python's name of the encoding that bytes seem to be in, and its usual name; empty where none is likely."""
    if wide := _wide(head):
        return wide, wide.upper()
    found = max(_LIKELY, key=lambda one: _ratio(head, one[0], one[2]))
    return found[:2] if _ratio(head, found[0], found[2]) >= _MIN_RATIO else ("", "")


def _wide(head: bytes) -> str:
    """UTF-16 has a mark in front, or every other byte of plain text is 0."""
    for bom, name in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(bom):
            return name
    half = len(head) // 2
    if half and head[1::2].count(0) > half * 0.6:
        return "utf-16-le"
    return "utf-16-be" if half and head[0::2].count(0) > half * 0.6 else ""


def _ratio(head: bytes, encoding: str, signs: str) -> float:
    """How much of what is not ASCII would be common signs in likely places, were it in that encoding."""
    text = f" {head.decode(encoding, 'replace')} "
    beyond = [index for index, sign in enumerate(text) if not sign.isascii()]
    likely = sum(_is_likely(text[index - 1], text[index], text[index + 1], signs) for index in beyond)
    return likely / len(beyond) if beyond else 0.0


def _is_likely(before: str, sign: str, after: str, signs: str) -> bool:
    """No large letter follows a small one, no sign but an apostrophe stands between letters, and in writings that are
    mostly ASCII letters beyond it stand apart."""
    if sign.lower() not in signs:
        return False
    if not sign.isalpha():
        return sign == "’" or not (before.isalpha() and after.isalpha())
    if sign.isupper() and before.islower():
        return False
    return signs is _CYRILLIC or before.isascii() or after.isascii()


def _whole_lines(head: bytes) -> bytes:
    """Without a line that may be cut, in the middle of a sign too."""
    end = head.rfind(b"\n")
    return head[: end + 1] if end >= 0 and len(head) >= HEAD_BYTES else head


def _text(head: bytes, encoding: str) -> str | None:
    """The text, None if these bytes are none in that encoding, or hold what no text has."""
    try:
        text = head.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None
    return None if "\0" in text else text


def _shown(encoding: str) -> str:
    return encoding.upper() if encoding.lower().startswith("utf") else encoding


def _delimiter_mismatches(text: str, fmt: Delimited) -> list[str]:
    header = _widths(text, fmt.delimiter, fmt.quote)[:1]
    if header != [1]:
        return []
    for delimiter, shown in _DELIMITERS.items():
        widths = _widths(text, delimiter, fmt.quote)
        if delimiter != fmt.delimiter and widths[0] > 1 and widths.count(widths[0]) >= len(widths) * _MIN_RATIO:
            return [f"one column, {shown} looks like the delimiter"]
    return []


def _widths(text: str, delimiter: str, quote: str) -> Sequence[int]:
    """How many cells the first records have; a file that no such settings can read has none."""
    if delimiter == quote:
        return [0]
    records = csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True), delimiter=delimiter, quotechar=quote)
    try:
        return [len(record) for record in islice((record for record in records if record), _RECORDS)] or [0]
    except csv.Error:
        return [0]
