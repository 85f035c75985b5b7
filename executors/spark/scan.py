"""The scan job: one pass over the bytes of each file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

import pyarrow as pa

from executors.formats import FORMATS
from executors.formats.copies import CopyWriter
from executors.formats.files import FileStore
from executors.formats.small_files import is_small, read_each
from executors.model import FileCopy, FileScan, SourceField, SourceFile, Split
from executors.spark.errors import translate
from executors.spark.groups import Group, grouped
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.session import RunSession
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source, SourceColumn
from ir.types import ColumnType

MOST_TASKS = 64
BYTES_PER_TASK = 16 << 20
"""A task costs more than the scan of a small file, so small files share a task. Every run scans all files that
match."""


def scan_files(
    session: RunSession,
    source: Source,
    files: Sequence[SourceFile],
    store: FileStore,
    copies: str | None = None,
) -> list[FileScan]:
    """Scan files on the executors. Returns the scans in the order of the files. Small files are copied to the folder
    `copies`, from which their rows are read later.

    Raises the errors of the format (`source.changed`, `source.column_missing`, …) and of `translate`.
    """
    if not files:
        return []
    groups = grouped(files, min(MOST_TASKS, 1 + sum(file.size for file in files) // BYTES_PER_TASK), lambda f: f.size)
    task = ScanTask(config_of(source, FilesConfig).format, tuple(source.columns or ()), groups, store, copies)
    with translate(source.id):
        rows = run_job(map_task(frame_of_numbers(session.start(), len(groups)), task, "scan string"))
    by_position = {file.seq: file for file in files}
    scans = [decode_scan(row["scan"], by_position) for row in rows]
    return sorted(scans, key=lambda scan: scan.file.seq)


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Scans the groups of files with the given numbers."""

    format: Any
    declared: tuple[SourceColumn, ...]
    groups: tuple[Group[SourceFile], ...]
    store: FileStore
    copies: str | None = None

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                # One batch for many files: to send a batch takes about as long as to scan a small file.
                with CopyWriter(self.copies) as copies:
                    scans = list(self._scan_all(self.groups[number].items(), copies))
                yield pa.RecordBatch.from_pydict({"scan": scans})

    def _scan_all(self, files: Sequence[SourceFile], copies: CopyWriter) -> Iterator[str]:
        """Yield the encoded scans of files."""
        for are_small, some in groupby(files, key=is_small):
            group = list(some)
            if not are_small:
                yield from (encode_scan(self._scan(file, self.store)) for file in group)
                continue
            for file, store in zip(group, read_each(group, self.store), strict=True):
                scan = self._scan(file, store)
                yield encode_scan(scan, copies.add(store.data) if scan.splits else None)

    def _scan(self, file: SourceFile, store: FileStore) -> FileScan:
        return FORMATS[self.format.type].scan(file, self.format, self.declared, store=store)


def encode_scan(scan: FileScan, copy: FileCopy | None = None) -> str:
    """Return a scan as JSON, with the position of its file instead of the file. Types are written by name."""
    columns = [[field.name, str(field.type), field.only_null] for field in scan.fields]
    splits = [[split.start, split.end, split.first_record, split.records] for split in scan.splits]
    # All splits of a file have the same checksums.
    checksums = (scan.splits[0].checksums or b"").hex() if scan.splits else ""
    values = {name: getattr(scan, name) for name in ("sha256", "records", "warnings", "first_line", "is_blank")}
    values |= {"seq": scan.file.seq, "fields": columns, "splits": splits, "checksums": checksums}
    values["copy"] = (copy.path, copy.offset) if copy else None
    return json.dumps(values)


def decode_scan(text: str, files: Mapping[int, SourceFile]) -> FileScan:
    """Return an encoded scan. `files` are the scanned files by position."""
    values = json.loads(text)
    file, sha256 = files[values["seq"]], values["sha256"]
    checksums = bytes.fromhex(values["checksums"])
    copy = FileCopy(*values["copy"]) if values["copy"] else None
    splits = tuple(
        Split(file, sha256, start, end, first_record, records, checksums, copy)
        for start, end, first_record, records in values["splits"]
    )
    fields = _decode_fields(tuple(map(tuple, values["fields"])))
    warnings, first_line = tuple(values["warnings"]), values["first_line"]
    return FileScan(file, sha256, values["records"], fields, splits, warnings, first_line, values["is_blank"])


@lru_cache
def _decode_fields(columns: tuple[tuple[str, str, bool], ...]) -> tuple[SourceField, ...]:
    """Return the fields of a file. Many files have the same."""
    return tuple(SourceField(name, ColumnType.parse(kind), only_null=only_null) for name, kind, only_null in columns)
