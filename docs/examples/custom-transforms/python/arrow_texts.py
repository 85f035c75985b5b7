"""Reads and writes columns of text as an Arrow IPC stream, with the standard library alone.

PyArrow is not available in WebAssembly. The format is that of https://arrow.apache.org/docs/format/Columnar.html; the
metadata are Flatbuffers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

Texts = list[str | None]
SCHEMA, RECORD_BATCH, UTF8, VERSION_5 = 1, 3, 5, 4
_SIZES = {"u8": ("<B", 1), "i16": ("<h", 2), "i64": ("<q", 8), "ref": ("<I", 4)}


def read_names(stream: bytes) -> list[str]:
    """Return the names of the columns. Raises ValueError if one of them is not text."""
    _, table, _ = next(_messages(stream))
    names = []
    for field in _vector(stream, _field(stream, table, 1)):
        at = field + _u32(stream, field)
        name = _string(stream, _field(stream, at, 0))
        if stream[_field(stream, at, 2)] != UTF8:
            raise ValueError(f"{name} is not text")
        names.append(name)
    return names


def read_texts(stream: bytes) -> dict[str, Texts]:
    """Return the columns of a stream with one record batch."""
    names = read_names(stream)
    columns: dict[str, Texts] = {name: [] for name in names}
    for kind, table, body in _messages(stream):
        if kind != RECORD_BATCH:
            continue
        (rows,) = struct.unpack_from("<q", stream, _field(stream, table, 0))
        at = _field(stream, table, 2)
        first = at + _u32(stream, at) + 4
        for number, name in enumerate(names):
            # A text column has three buffers, each an offset and a length: validity, offsets and bytes.
            places = struct.unpack_from("<6q", stream, first + 48 * number)
            columns[name] += _column(stream, body, places, rows)
    return columns


def write_schema(names: Sequence[str]) -> bytes:
    """Return a stream without rows."""
    return _framed(_schema(names), b"") + _END


def write_texts(columns: Mapping[str, Texts]) -> bytes:
    """Return a stream with one record batch."""
    rows = len(next(iter(columns.values())))
    buffers: list[bytes] = []
    for texts in columns.values():
        buffers += _buffers(texts)
    return _framed(_schema(list(columns)), b"") + _framed(*_batch(rows, columns, buffers)) + _END


# --- reading --------------------------------------------------------------------------------------------------------


def _messages(stream: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield the kind of each message, the position of its table and that of its body."""
    at = 0
    while at + 8 <= len(stream) and (size := _u32(stream, at + 4)):
        start = at + 8
        message = start + _u32(stream, start)
        kind, header = stream[_field(stream, message, 1)], _field(stream, message, 2)
        length = _field(stream, message, 3)
        yield kind, header + _u32(stream, header), start + size
        at = start + size + (struct.unpack_from("<q", stream, length)[0] if length else 0)


def _column(stream: bytes, body: int, places: Sequence[int], rows: int) -> Texts:
    validity, valid_bytes, offsets, _, values, _ = places
    ends = struct.unpack_from(f"<{rows + 1}i", stream, body + offsets)
    texts: Texts = []
    for row in range(rows):
        if valid_bytes and not stream[body + validity + row // 8] >> row % 8 & 1:
            texts.append(None)
        else:
            start = body + values
            texts.append(stream[start + ends[row] : start + ends[row + 1]].decode())
    return texts


def _u32(stream: bytes, at: int) -> int:
    return int.from_bytes(stream[at : at + 4], "little")


def _field(stream: bytes, table: int, number: int) -> int:
    """Return the position of a field of a table, or 0 if it is absent."""
    fields = table - struct.unpack_from("<i", stream, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", stream, fields)[0]:
        return 0
    (offset,) = struct.unpack_from("<H", stream, fields + 4 + 2 * number)
    return table + offset if offset else 0


def _vector(stream: bytes, at: int) -> range:
    """Return the positions of the references in a vector."""
    start = at + _u32(stream, at)
    return range(start + 4, start + 4 + 4 * _u32(stream, start), 4)


def _string(stream: bytes, at: int) -> str:
    start = at + _u32(stream, at)
    return stream[start + 4 : start + 4 + _u32(stream, start)].decode()


# --- writing --------------------------------------------------------------------------------------------------------

_END = b"\xff\xff\xff\xff\0\0\0\0"


class _Flat(bytearray):
    """A Flatbuffer, written from its beginning to its end: what is referred to follows what refers to it."""

    def table(self, *slots: tuple[str, int] | None) -> dict[int, int]:
        """Append a table and return the positions of its references by number."""
        size, places = 4, []
        for slot in slots:
            width = _SIZES[slot[0]][1] if slot else 0
            size += -size % width if width else 0
            places.append(size if slot else 0)
            size += width
        fields = struct.pack(f"<HH{len(slots)}H", 4 + 2 * len(slots), size, *places)
        self.extend(bytes(-(len(self) + len(fields)) % 8) + fields)
        start = len(self)
        self.extend(struct.pack("<i", len(fields)) + bytes(size - 4))
        for slot, place in zip(slots, places, strict=True):
            if slot:
                struct.pack_into(_SIZES[slot[0]][0], self, start + place, slot[1])
        self.last = start
        return {n: start + place for n, (slot, place) in enumerate(zip(slots, places, strict=True)) if slot}

    def refer(self, at: int, to: int) -> None:
        struct.pack_into("<I", self, at, to - at)

    def structs(self, at: int, count: int, content: bytes) -> None:
        """Append a vector of structs of 16 bytes, and refer to it."""
        self.extend(bytes((4 - len(self)) % 8))
        self.refer(at, len(self))
        self.extend(struct.pack("<I", count) + content)

    def message(self, kind: int, body: int) -> int:
        """Append the table of a message, and return where it refers to its header."""
        self.extend(bytes(4))
        places = self.table(("i16", VERSION_5), ("u8", kind), ("ref", 0), ("i64", body))
        self.refer(0, self.last)
        return places[2]


def _schema(names: Sequence[str]) -> bytes:
    flat = _Flat()
    header = flat.message(SCHEMA, 0)
    places = flat.table(None, ("ref", 0))
    flat.refer(header, flat.last)
    flat.extend(bytes(-len(flat) % 4))
    flat.refer(places[1], len(flat))
    vector = len(flat)
    flat.extend(struct.pack("<I", len(names)) + bytes(4 * len(names)))
    for number, name in enumerate(names):
        field = flat.table(("ref", 0), ("u8", 1), ("u8", UTF8), ("ref", 0))
        flat.refer(vector + 4 + 4 * number, flat.last)
        flat.table()
        flat.refer(field[3], flat.last)
        flat.extend(bytes(-len(flat) % 4))
        flat.refer(field[0], len(flat))
        flat.extend(struct.pack("<I", len(name.encode())) + name.encode() + b"\0")
    return bytes(flat)


def _batch(rows: int, columns: Mapping[str, Texts], buffers: Sequence[bytes]) -> tuple[bytes, bytes]:
    body, places = bytearray(), []
    for buffer in buffers:
        places.append(struct.pack("<qq", len(body), len(buffer)))
        body += buffer + bytes(-len(buffer) % 8)
    flat = _Flat()
    header = flat.message(RECORD_BATCH, len(body))
    found = flat.table(("i64", rows), ("ref", 0), ("ref", 0))
    flat.refer(header, flat.last)
    nodes = [struct.pack("<qq", rows, sum(text is None for text in texts)) for texts in columns.values()]
    flat.structs(found[1], len(nodes), b"".join(nodes))
    flat.structs(found[2], len(places), b"".join(places))
    return bytes(flat), bytes(body)


def _buffers(texts: Texts) -> list[bytes]:
    validity, ends, values = bytearray(-(-len(texts) // 8)), [0], bytearray()
    for row, text in enumerate(texts):
        if text is not None:
            validity[row // 8] |= 1 << row % 8
            values += text.encode()
        ends.append(len(values))
    return [bytes(validity), struct.pack(f"<{len(ends)}i", *ends), bytes(values)]


def _framed(metadata: bytes, body: bytes) -> bytes:
    padded = metadata + bytes(-len(metadata) % 8)
    return b"\xff\xff\xff\xff" + struct.pack("<I", len(padded)) + padded + body
