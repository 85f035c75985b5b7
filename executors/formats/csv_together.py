"""Reads small files of CSV together: one batch holds records of several files with the same columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from executors.formats.batches import GATHERED_BYTES, GATHERED_ROWS, Batches, Places, framed, text_schema
from executors.formats.compression import TextContent
from executors.formats.csv import Delimited, Top, chunks_of, finder_of, has_byte_offsets, read_top
from executors.formats.csv_cells import CellReader, records_differ
from executors.formats.files import BLOCK_BYTES, FileStore, open_verified
from executors.formats.records import Chunk
from executors.model import SourceField, Split
from ir.nodes import SourceColumn
from ir.words import counted


@dataclass(slots=True)
class _Joined:
    """Records of parts of files with the same columns. Each part has the position of its file, the number of its first
    record and the number of its records."""

    names: Sequence[str]
    first_file: str
    data: list[bytes] = field(default_factory=list)
    parts: list[tuple[int, int, int]] = field(default_factory=list)
    size: int = 0
    rows: int = 0

    def add(self, file: int, first: int, records: int, data: bytes) -> None:
        self.parts.append((file, first, records))
        self.data.append(data if data.endswith((b"\n", b"\r")) else data + b"\n")
        self.size, self.rows = self.size + len(data), self.rows + records

    @property
    def name(self) -> str:
        others = len({file for file, _, _ in self.parts}) - 1
        return f"{self.first_file} and the {counted(others, 'file')} after it" if others else self.first_file

    @property
    def is_full(self) -> bool:
        return self.rows >= GATHERED_ROWS or self.size >= GATHERED_BYTES


def read_together(
    files: Iterable[tuple[Split, FileStore]],
    fmt: Delimited,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
) -> Batches:
    """Return the records of small files in order, as `csv.read` does. Each file has a store of its own."""
    schema = text_schema(fields)
    for joined in _joined(files, fmt, declared):
        data = b"".join(joined.data)
        chunk = Chunk(data, finder_of(fmt).starts(data))
        if len(chunk.starts) != joined.rows:
            raise records_differ(joined.name, joined.rows, len(chunk.starts))
        cells = CellReader(fmt, joined.names, [f.name for f in fields if f.name in joined.names], joined.name)
        yield from framed(Places.of(joined.parts), *cells.read(chunk), schema)


def _joined(
    files: Iterable[tuple[Split, FileStore]], fmt: Delimited, declared: Sequence[SourceColumn]
) -> Iterator[_Joined]:
    """Yield the records of successive files with the same columns, in blocks of limited size."""
    top: Top | None = None
    known, joined = b"", _Joined((), "")
    for split, store in files:
        with open_verified(split, store) as stream:
            content = TextContent.of(stream, split.file)
            head = stream.read(split.start)
            if top is None or not (fmt.header and head) or head != known:
                # Files with the same bytes before their data have the same header.
                known, top = head, read_top(content, split.file, fmt, declared)
            for first, records, data in _parts(content, split, fmt, top.records):
                if joined.is_full or joined.names != top.names:
                    if joined.parts:
                        yield joined
                    joined = _Joined(top.names, split.file.name)
                joined.add(split.file.seq, first, records, data)
    if joined.parts:
        yield joined


def _parts(content: TextContent, split: Split, fmt: Delimited, skip: int) -> Iterator[tuple[int, int, bytes]]:
    """Return the records of a file in parts: the number of the first one, their number and their bytes."""
    if has_byte_offsets(content, fmt):
        content.stream.seek(split.start)
        yield split.first_record, split.records, content.stream.read(split.end - split.start)
        return
    first = split.first_record
    for chunk in chunks_of(content, split, fmt, skip, BLOCK_BYTES):
        yield first, len(chunk.starts), chunk.data
        first += len(chunk.starts)
