"""The table of file formats. Each has `scan(file, fmt, declared)`, `scan_head` for the start of a large file, and
`read(split, fmt, fields, declared)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from executors.formats import avro, csv, csv_together, fixed_width, json_array, jsonl, orc, parquet, xlsx, xml_records
from executors.formats.batches import Batches
from executors.formats.files import LOCAL_FILES, FileStore
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.kinds import KindTable
from ir.nodes import SourceColumn


class FormatHandler(Protocol):
    """The reader of one file format."""

    def scan(
        self, file: SourceFile, fmt: Any, declared: Sequence[SourceColumn] = (), *, store: FileStore = LOCAL_FILES
    ) -> FileScan: ...

    def scan_head(
        self,
        file: SourceFile,
        fmt: Any,
        declared: Sequence[SourceColumn] = (),
        *,
        store: FileStore = LOCAL_FILES,
        most_bytes: int,
    ) -> FileScan: ...

    def read(
        self,
        split: Split,
        fmt: Any,
        fields: Sequence[SourceField],
        declared: Sequence[SourceColumn] = (),
        *,
        store: FileStore = LOCAL_FILES,
    ) -> Batches: ...


_HANDLERS: tuple[tuple[str, Any], ...] = (
    ("csv", csv),
    ("tsv", csv),
    ("fixed_width", fixed_width),
    ("xlsx", xlsx),
    ("json", json_array),
    ("jsonl", jsonl),
    ("parquet", parquet),
    ("avro", avro),
    ("orc", orc),
    ("xml", xml_records),
)

FORMATS: KindTable[FormatHandler] = KindTable("file format", _HANDLERS)

READ_TOGETHER = {"csv": csv_together.read_together, "tsv": csv_together.read_together}
"""The formats that read small files together in less time than each alone."""
