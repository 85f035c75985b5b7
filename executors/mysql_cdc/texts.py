"""Texts, bytes and labels of rows in the log, as texts in UTF-8."""

from __future__ import annotations

import ipaddress
import struct
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from executors.mysql_cdc.stored import Decode, Stored, ValueKind


def _prefixed(prefix: int, convert: Callable[[bytes], bytes] | None) -> Decode:
    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        start = at + prefix
        end = start + int.from_bytes(row[at:start], "little")
        return row[start:end] if convert is None else convert(row[start:end]), end

    return decode


def _converter(kind: ValueKind) -> Callable[[bytes], bytes] | None:
    """Return what makes UTF-8 of a text, None if it is UTF-8."""
    if kind.wide:
        encoding = kind.wide
        # What is no character becomes a question mark, as in the results of the server.
        return lambda raw: raw.decode(encoding, "replace").replace("\ufffd", "?").encode()
    characters = kind.characters
    if characters is None:
        return None
    return lambda raw: b"".join([characters[byte] for byte in raw])


def varchar(stored: Stored, kind: ValueKind) -> Decode:
    return _prefixed(2 if stored.size > 255 else 1, _converter(kind))


def blob(stored: Stored, kind: ValueKind) -> Decode:
    return _prefixed(stored.size, _converter(kind))


def string(stored: Stored, kind: ValueKind) -> Decode:
    """The log has neither the blanks at the end of a CHAR nor the zeros at the end of a BINARY."""
    size = stored.size
    prefix = 2 if size > 255 else 1
    finish = {"uuid": _uuid, "inet4": _inet4, "inet6": _inet6}.get(kind.name)
    if finish is not None:
        return _prefixed(prefix, lambda raw: finish(raw.ljust(size, b"\0")))
    if kind.name == "binary":
        return _prefixed(prefix, lambda raw: raw.ljust(size, b"\0"))
    return _prefixed(prefix, _converter(kind))


def _uuid(raw: bytes) -> bytes:
    return str(uuid.UUID(bytes=raw)).encode()


def _inet4(raw: bytes) -> bytes:
    return str(ipaddress.IPv4Address(raw)).encode()


def _inet6(raw: bytes) -> bytes:
    """As the server writes it: with the dots of an address of IPv4 in it, and `::` also for one group."""
    if raw[:12] == bytes(10) + b"\xff\xff":
        return b"::ffff:" + _inet4(raw[12:])
    if not any(raw[:12]) and int.from_bytes(raw[12:]) > 1:
        return b"::" + _inet4(raw[12:])
    groups = struct.unpack("!8H", raw)
    gap = max(_gaps(groups), key=lambda found: found[1], default=None)
    texts = [b"%x" % group for group in groups]
    if gap is None:
        return b":".join(texts)
    return b":".join(texts[: gap[0]]) + b"::" + b":".join(texts[gap[0] + gap[1] :])


def _gaps(groups: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield where runs of zeros begin, and their lengths."""
    start = 0
    for is_zero, run in groupby(groups, lambda group: not group):
        size = len(list(run))
        if is_zero:
            yield start, size
        start += size


def enum(stored: Stored, kind: ValueKind) -> Decode:
    size, labels = stored.size, (b"", *kind.labels)  # 0 is the error value
    return lambda row, at: (labels[int.from_bytes(row[at : at + size], "little")], at + size)


def set_(stored: Stored, kind: ValueKind) -> Decode:
    size, labels = stored.size, kind.labels

    def decode(row: bytes, at: int) -> tuple[bytes, int]:
        bits = int.from_bytes(row[at : at + size], "little")
        return b",".join([label for i, label in enumerate(labels) if bits >> i & 1]), at + size

    return decode
