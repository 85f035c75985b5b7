"""The scan job: one pass over the bytes of each file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any

import pyarrow as pa

from executors.formats import FORMATS
from executors.formats.files import FileStore
from executors.model import ArchiveMember, FileScan, SourceField, SourceFile, Split
from executors.spark.ahead import SMALL_BYTES, read_ahead
from executors.spark.errors import translate
from executors.spark.jobs import frame_of_numbers, map_task, run_job
from executors.spark.session import RunSession
from ir.connectors import config_of
from ir.connectors.files import FilesConfig
from ir.nodes import Source, SourceColumn
from ir.types import ColumnType

MOST_TASKS = 64
BYTES_PER_TASK = 4 << 20
"""A task costs more than the scan of a small file, so small files share a task. Every run scans all files that
match."""
_OF_FILE, _OF_MEMBER = (tuple(field.name for field in fields(kind)) for kind in (SourceFile, ArchiveMember))


def scan_files(session: RunSession, source: Source, files: Sequence[SourceFile], store: FileStore) -> list[FileScan]:
    """Scan files on the executors. Returns the scans in the order of the files.

    Raises the errors of the format (`source.changed`, `source.column_missing`, …) and of `translate`.
    """
    if not files:
        return []
    task = ScanTask(config_of(source, FilesConfig).format, tuple(source.columns or ()), tuple(files), store)
    tasks = min(MOST_TASKS, 1 + sum(file.size for file in files) // BYTES_PER_TASK)
    with translate(source.id):
        numbers = frame_of_numbers(session.start(), len(files), tasks)
        rows = run_job(map_task(numbers, task, "scan string"))
    return sorted((decode_scan(row["scan"]) for row in rows), key=lambda scan: scan.file.seq)


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Scans the files with the given numbers."""

    format: Any
    declared: tuple[SourceColumn, ...]
    files: tuple[SourceFile, ...]
    store: FileStore

    def __call__(self, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            # One batch for many files: to send a batch takes about as long as to scan a small file.
            files = [self.files[number] for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict({"scan": [encode_scan(scan) for scan in self._scan_all(files)]})

    def _scan_all(self, files: Sequence[SourceFile]) -> Iterator[FileScan]:
        reads_ahead = self.store.waits
        for is_small, some in groupby(files, key=lambda file: file.size <= SMALL_BYTES):
            scan_each = read_ahead if is_small and reads_ahead else map
            yield from scan_each(self.scan, some)

    def scan(self, file: SourceFile) -> FileScan:
        return FORMATS[self.format.type].scan(file, self.format, self.declared, store=self.store)


def encode_scan(scan: FileScan) -> str:
    """Return a scan as JSON. Types are written by name."""
    columns = [[field.name, str(field.type), field.only_null] for field in scan.fields]
    splits = [[split.start, split.end, split.first_record, split.records] for split in scan.splits]
    # All splits of a file have the same checksums.
    checksums = (scan.splits[0].checksums or b"").hex() if scan.splits else ""
    values = {name: getattr(scan, name) for name in ("sha256", "records", "warnings", "first_line", "is_blank")}
    values |= {"file": _encode_file(scan.file), "fields": columns, "splits": splits, "checksums": checksums}
    return json.dumps(values)


def decode_scan(text: str) -> FileScan:
    values = json.loads(text)
    file = _decode_file(values["file"])
    columns = tuple(
        SourceField(name, ColumnType.parse(kind), only_null=only_null) for name, kind, only_null in values["fields"]
    )
    checksums = bytes.fromhex(values["checksums"])
    splits = tuple(
        Split(file, values["sha256"], start, end, first_record, records, checksums)
        for start, end, first_record, records in values["splits"]
    )
    warnings, first_line = tuple(values["warnings"]), values["first_line"]
    is_blank = values["is_blank"]
    return FileScan(file, values["sha256"], values["records"], columns, splits, warnings, first_line, is_blank)


def _encode_file(file: SourceFile) -> dict[str, Any]:
    # `asdict` copies all values, which takes most of the time for small files.
    values = {name: getattr(file, name) for name in _OF_FILE}
    if member := file.member:
        values["member"] = {name: getattr(member, name) for name in _OF_MEMBER}
        values["member"]["archive"] = _encode_file(member.archive)
    return values


def _decode_file(values: dict[str, Any]) -> SourceFile:
    if member := values["member"]:
        values = {**values, "member": ArchiveMember(**{**member, "archive": _decode_file(member["archive"])})}
    return SourceFile(**values)
