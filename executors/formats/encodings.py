"""Converts any text encoding to a stream of UTF-8 blocks without a byte order mark."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from functools import cache

from executors.errors import Terminal

_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
UNDECODABLE = "\udcff"
"""Replaces undecodable bytes. In UTF-8 it becomes a byte that valid UTF-8 never contains, so that its record is
found."""

_ERROR_HANDLER = "flow-undecodable"
codecs.register_error(_ERROR_HANDLER, lambda error: (UNDECODABLE, error.end))  # type: ignore[attr-defined]  # a UnicodeDecodeError


def is_utf8(encoding: str) -> bool:
    return _lookup(encoding) in ("utf-8", "utf-8-sig")


@cache
def _lookup(encoding: str) -> str:
    try:
        "".encode(encoding)  # refuses unknown names and codecs that are not text encodings
    except LookupError as error:
        raise Terminal(
            "source.encoding_unknown",
            f"{encoding!r} is not a text encoding.",
            hint="Write one of utf-8, utf-16, latin-1, cp1252 or another name that Python's codecs know.",
        ) from error
    return codecs.lookup(encoding).name


def to_utf8(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """Convert blocks of text in an encoding to UTF-8."""
    if is_utf8(encoding):
        return _without_bom(blocks)
    return _transcoded(blocks, encoding)


def _without_bom(blocks: Iterable[bytes]) -> Iterator[bytes]:
    stream = iter(blocks)
    head = b""
    while len(head) < len(_UTF8_BOM) and (block := next(stream, b"")):
        head += block
    yield head.removeprefix(_UTF8_BOM)
    yield from stream


def _transcoded(blocks: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)(errors=_ERROR_HANDLER)
    first = True
    for block in blocks:
        text = _decode(decoder, block, encoding)
        if first and text:
            text, first = text.removeprefix("\ufeff"), False
        yield text.encode("utf-8", "surrogateescape")
    yield decoder.decode(b"", final=True).encode("utf-8", "surrogateescape")


def _decode(decoder: codecs.IncrementalDecoder, block: bytes, encoding: str) -> str:
    """Decode a block. UTF-16 and UTF-32 need a byte order mark at the beginning, beyond what error handlers replace."""
    try:
        return decoder.decode(block)
    except UnicodeError as error:
        raise Terminal(
            "source.encoding_differs",
            f"The file is not written in {encoding}: it does not begin with a byte order mark.",
            hint="Set the format's encoding to the file's, such as utf-8, utf-16-le or cp1252.",
        ) from error


def decoded(blocks: Iterable[bytes]) -> Iterator[str]:
    """Decode blocks of UTF-8 to text, with UNDECODABLE for invalid bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors=_ERROR_HANDLER)
    for block in _without_bom(blocks):
        yield decoder.decode(block)
    yield decoder.decode(b"", final=True)


def bom_length(head: bytes, name: str) -> int:
    """Return the length of a UTF-8 byte order mark at the head of a file. Raises for a UTF-16 one."""
    if head.startswith(_UTF16_BOMS):
        raise Terminal(
            "source.encoding_differs",
            f"{name} is written in UTF-16, but its format says UTF-8.",
            hint="Set the format's encoding to utf-16, or write the file in UTF-8.",
        )
    return len(_UTF8_BOM) if head.startswith(_UTF8_BOM) else 0


def is_valid(data: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def escaped(data: bytes) -> str:
    """Decode bytes to text, with `\\x…` for invalid UTF-8."""
    return data.decode("utf-8", "backslashreplace")
