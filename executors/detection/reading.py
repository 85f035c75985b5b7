"""Reads the rows in the head of a file with the reader of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from executors.errors import InvalidContent
from executors.formats import FORMATS
from executors.formats.avro_blocks import Bytes, list_blocks, read_header
from executors.formats.batches import HIDDEN
from executors.formats.encodings import decoded
from executors.formats.json_array import elements
from executors.formats.records import RecordFinder, quote_not_closed
from executors.formats.small_files import InMemory
from executors.model import FileScan, SourceField, SourceFile
from ir.formats import Delimited, Format, Json


@dataclass(frozen=True, slots=True)
class Sheet:
    """Fields with their values, without the unreadable records, which are listed by number and reason."""

    scan: FileScan
    fields: tuple[SourceField, ...]
    table: pa.Table
    bad: tuple[tuple[int, str], ...]

    def line_of(self, record: int) -> int | None:
        return None if self.scan.first_line is None else self.scan.first_line + record - 1


def read_sheet(data: bytes, name: str, fmt: Format) -> Sheet:
    """Read all records. Raises Failure like a run."""
    file = SourceFile(0, name, name, len(data), 0)
    store, handler = InMemory(data), FORMATS[fmt.type]
    scan = handler.scan(file, fmt, store=store)
    batches: list[pa.RecordBatch] = []
    bad: list[tuple[int, str]] = []
    for split in scan.splits:
        for batch in handler.read(split, fmt, scan.fields, store=store):
            reasons = batch.column("_flow_bad")
            if reasons.null_count < len(reasons):
                records = batch.column("_flow_record").to_pylist()
                bad += [(n, why) for n, why in zip(records, reasons.to_pylist(), strict=True) if why is not None]
                batch = batch.filter(reasons.is_null())
            batches.append(batch.select(range(len(HIDDEN), batch.num_columns)))
    table = (
        pa.Table.from_batches(batches)
        if batches
        else pa.table({f.name: pa.array([], pa.string()) for f in scan.fields})
    )
    return Sheet(scan, scan.fields, table.combine_chunks(), tuple(bad))


def read_head_sheet(data: bytes, name: str, fmt: Format, is_whole: bool) -> Sheet:
    """Read all complete records of a head. Raises Failure like a run."""
    return read_sheet(data if is_whole else whole_records_of(data, name, fmt), name, fmt)


def whole_records_of(data: bytes, name: str, fmt: Any) -> bytes:
    """Return the head of a longer file in UTF-8, up to its last complete record. Raises InvalidContent if there is
    none."""
    if isinstance(fmt, Json):
        return _whole_elements(data, name)
    is_delimited = isinstance(fmt, Delimited)
    finder = RecordFinder(ord(fmt.quote), ord(fmt.delimiter)) if is_delimited else RecordFinder()
    starts = finder.starts(data)
    if len(starts) > 1:
        return data[: int(starts[-1])]
    if finder.in_quotes:
        raise quote_not_closed(name)
    raise _record_too_long(name, len(data))


def whole_part(data: bytes, name: str, kind: str) -> bytes | None:
    """Return the part of a longer file's head that is a file of its own: the complete blocks of an Avro file. Return
    None if the head cannot be read without the end of the file."""
    if kind != "avro":
        return None
    content, end = Bytes([data]), 0
    try:
        header = read_header(content, name)
        for block in list_blocks(content, header, name):
            end = block.offset
    except InvalidContent:
        pass
    return data[:end] if end else None


def _whole_elements(data: bytes, name: str) -> bytes:
    texts: list[str] = []
    try:
        for text in elements(decoded([data]), name):
            texts.append(text)
    except InvalidContent as error:
        if not texts:
            raise _record_too_long(name, len(data)) from error
    return f"[{','.join(texts)}]".encode("utf-8", "surrogateescape")


def _record_too_long(name: str, size: int) -> InvalidContent:
    return InvalidContent(
        "detection.no_record",
        f"The first {size:,} bytes of {name} do not hold one whole record.",
        hint="Check the delimiter, the quote and the line ends of the file, or enter its settings.",
    )
