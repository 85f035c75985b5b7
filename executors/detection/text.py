"""Detects the encoding of a file, or refuses a file that is not text."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from executors.detection.model import GivenSettings, Problem
from executors.errors import InvalidContent
from executors.formats.encodings import to_utf8
from executors.formats.format_mismatches import HEAD_BYTES, guess_encoding
from executors.formats.signatures import unreadable_kind
from ir.formats import READABLE_NAMES

_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"))
_WIDE_MARKS = ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_BEYOND_ASCII = re.compile(rb"[^\r\n]{0,40}[\x80-\xff][^\r\n]{0,40}")
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
_MOST_CONTROLS = 0.001
"""Text has almost no control characters."""


@dataclass(frozen=True, slots=True)
class Text:
    """The head of a text file in UTF-8 without a byte order mark, as the reader gets it."""

    data: bytes
    encoding: str
    problems: tuple[Problem, ...] = ()


def refuse_unreadable(head: bytes, name: str) -> None:
    """Raises InvalidContent for a file without content and for file types that no format reads."""
    if not head.strip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"):
        raise InvalidContent(
            "detection.empty", f"{name} is empty.", hint="Send the file again, or choose one with content."
        )
    if kind := unreadable_kind(head):
        raise InvalidContent(
            "detection.unreadable",
            f"{name} is {kind.name}, which Flow cannot read.",
            hint=f"{kind.advice} Flow reads {READABLE_NAMES}.",
        )


def refuse_compressed(head: bytes, name: str) -> None:
    """Raises InvalidContent for content that cannot be read from a compressed file, because it is not text."""
    if head.startswith(b"PAR1"):
        raise InvalidContent(
            "detection.unreadable",
            f"{name} is a compressed Parquet file; only text is read from compressed files.",
            hint="Unpack it first. Such a format compresses its data itself.",
        )


def read_text(head: bytes, name: str, given: GivenSettings, *, is_whole: bool) -> Text:
    """Decode the head with the given or detected encoding. Raises InvalidContent if it is not text."""
    encoding, problems = (given.encoding, ()) if given.encoding else _encoding_of(head, is_whole)
    # The last record of a truncated head is not used, so a truncated character in it does no harm.
    data = b"".join(to_utf8([head], encoding))
    if len(_CONTROLS.findall(data)) > len(data) * _MOST_CONTROLS:
        raise InvalidContent(
            "detection.binary",
            f"{name} is not a text file, and none that Flow knows.",
            hint=f"Flow reads {READABLE_NAMES}. If it is text, choose its encoding.",
        )
    return Text(data, encoding, problems)


def _encoding_of(head: bytes, is_whole: bool) -> tuple[str, tuple[Problem, ...]]:
    for mark, encoding in (*_MARKS, *_WIDE_MARKS):
        if head.startswith(mark):
            return encoding, ()
    if b"\0" in head[:HEAD_BYTES]:
        return _without_mark(head)
    good, broken = _count_sequences(head, is_whole)
    if not broken:
        return "utf-8", ()
    if good > broken:
        return "utf-8", (_few_broken(broken),)
    excerpt = b"\n".join(_BEYOND_ASCII.findall(head))[:HEAD_BYTES]
    encoding, usual = guess_encoding(excerpt)
    if encoding:
        message = f"The file is not UTF-8; it looks like {usual}."
        return encoding, (Problem("encoding.guessed", message, "Choose another encoding if letters look wrong."),)
    message = "The file is not UTF-8, and its encoding cannot be detected."
    return "utf-8", (Problem("encoding.unknown", message, "Choose the encoding; ask who made the file."),)


def _without_mark(head: bytes) -> tuple[str, tuple[Problem, ...]]:
    encoding, usual = guess_encoding(head[:HEAD_BYTES])
    if not encoding.startswith("utf-16"):
        return "utf-8", ()
    message = f"The file looks like {usual}, but does not begin with a byte order mark."
    return encoding, (Problem("encoding.guessed", message, "Choose another encoding if letters look wrong."),)


def _count_sequences(head: bytes, is_whole: bool) -> tuple[int, int]:
    """Count the valid UTF-8 sequences beyond ASCII, and the invalid ones."""
    if head.isascii():
        return 0, 0
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(head, final=is_whole)
    broken = sum(1 for _ in re.finditer("[\udc80-\udcff]+", text))
    return sum(1 for _ in re.finditer("[^\x00-\x7f\udc80-\udcff]", text)), broken


def _few_broken(broken: int) -> Problem:
    places = "1 place is" if broken == 1 else f"{broken:,} places are"
    return Problem(
        "encoding.broken",
        f"The file is UTF-8, but {places} not valid.",
        "Rows with such text are rejected. Correct the file where it is made.",
    )
