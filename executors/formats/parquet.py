"""Reads Parquet: a split is a range of row groups, values keep their types."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
from pyarrow import parquet

from executors.errors import InvalidContent, Transient
from executors.formats.arrow_types import column_type
from executors.formats.batches import Batches, Framer, typed_schema
from executors.formats.columns import require_columns
from executors.formats.files import BLOCK_BYTES, LOCAL_FILES, SPLIT_BYTES, FileStore, HashedBlocks, open_verified
from executors.formats.limits import BATCH_BYTES
from executors.formats.parquet_limits import dictionary_columns, refuse_large_footer, refuse_unbounded, rows_per_batch
from executors.formats.row_bytes import bounded
from executors.formats.typed_rows import TypedRows
from executors.formats.verified import VerifiedStream
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Parquet
from ir.nodes import SourceColumn

_MOST_ROWS = 1 << 16


def scan(
    file: SourceFile,
    fmt: Parquet,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    split_bytes: int = SPLIT_BYTES,
) -> FileScan:
    """Hash a file and read its footer. Raises Terminal for an unsupported type and a missing declared column."""
    with store.open(file) as stream:
        blocks = HashedBlocks(stream)
        for _ in blocks:
            pass
        schema, footer = _read_footer(stream, file)
    require_columns(file.name, schema.names, declared)
    fields = tuple(_field(f, file.name) for f in schema)
    splits = tuple(_splits(file, blocks.sha256, _sizes(footer), split_bytes))
    return FileScan(file, blocks.sha256, footer.num_rows, fields, splits).with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Parquet,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Scan the first row groups of a file from its footer: as many as fit into these bytes, and at least one with rows.
    Raises as `scan`."""
    with store.open(file) as stream:
        schema, footer = _read_footer(stream, file)
    require_columns(file.name, schema.names, declared)
    fields = tuple(_field(f, file.name) for f in schema)
    splits = tuple(islice(_splits(file, "", _sizes(footer), most_bytes), 1))
    return FileScan(file, "", sum(split.records for split in splits), fields, splits).with_checksums(None)


def _read_footer(stream: BinaryIO, file: SourceFile) -> tuple[pa.Schema, parquet.FileMetaData]:
    refuse_large_footer(stream, file.size, file.name)
    with _opened(stream, file) as opened:
        schema, footer = opened.schema_arrow, opened.metadata
        refuse_unbounded(stream, footer, file.name)
    return schema, footer


def _sizes(footer: parquet.FileMetaData) -> list[tuple[int, int]]:
    groups = (footer.row_group(at) for at in range(footer.num_row_groups))
    return [(group.num_rows, group.total_byte_size) for group in groups]


def _field(field: pa.Field, file: str) -> SourceField:
    return SourceField(field.name, column_type(field.type, field.name, file), only_null=pa.types.is_null(field.type))


def _splits(file: SourceFile, sha256: str, sizes: Sequence[tuple[int, int]], split_bytes: int) -> Iterator[Split]:
    """Yield splits of consecutive row groups, joined until a split is large enough."""
    start, first, rows, held = 0, 1, 0, 0
    for at, (group_rows, group_bytes) in enumerate(sizes, 1):
        rows, held = rows + group_rows, held + group_bytes
        if rows and (held >= split_bytes or at == len(sizes)):
            yield Split(file, sha256, start, at, first, rows)
            start, first, rows, held = at, first + rows, 0, 0


def read(
    split: Split,
    fmt: Parquet,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the rows of a split, typed. A value that its column type cannot represent, such as nanoseconds, makes a
    bad row."""
    framer = Framer(split, typed_schema(fields))
    with open_verified(split, store) as stream:
        with _opened(stream, split.file) as opened:
            footer = opened.metadata
            dictionary_paths = dictionary_columns(stream, opened, range(split.start, split.end), split.file.name)
            names = set(opened.schema_arrow.names)
            most = _rows_for(stream, footer, split, block_bytes, dictionary_paths)
        wanted = [f for f in fields if f.name in names]
        rows = TypedRows(wanted, declared, framer)
        with _opened(stream, split.file, metadata=footer, read_dictionary=dictionary_paths) as opened:
            batches = opened.iter_batches(
                batch_size=most,
                row_groups=list(range(split.start, split.end)),
                columns=[f.name for f in wanted],
                use_threads=False,
            )
            for batch in _reading(batches, stream, split.file):
                for piece in bounded(batch, BATCH_BYTES):
                    yield from rows.frame(piece)


def _rows_for(
    stream: VerifiedStream,
    footer: parquet.FileMetaData,
    split: Split,
    block_bytes: int,
    dictionary_paths: Sequence[str],
) -> int:
    groups = range(split.start, split.end)
    size: int = sum(footer.row_group(at).total_byte_size for at in groups)
    bounded_rows = rows_per_batch(stream, footer, groups, dictionary_paths, split.file.name)
    return max(1, min(_MOST_ROWS, bounded_rows, block_bytes * split.records // max(1, size)))


@contextmanager
def _opened(stream: BinaryIO | VerifiedStream, file: SourceFile, **how: Any) -> Iterator[parquet.ParquetFile]:
    stream.seek(0, io.SEEK_SET)
    try:
        opened = parquet.ParquetFile(stream, **how)
    except (pa.ArrowException, OSError, Transient) as error:
        raise _why(stream, file, error) from error
    with opened:
        yield opened


def _reading(batches: Iterator[pa.RecordBatch], stream: VerifiedStream, file: SourceFile) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (pa.ArrowException, OSError, Transient) as error:
        raise _why(stream, file, error) from error


def _why(stream: BinaryIO | VerifiedStream, file: SourceFile, error: Exception) -> Exception:
    """Return the failure of the stream if there is one: changed bytes are the cause of any error of the library."""
    return getattr(stream, "failure", None) or _malformed(file, error)


def _malformed(file: SourceFile, error: Exception) -> InvalidContent:
    return InvalidContent(
        "source.malformed",
        f"{file.name} cannot be read as Parquet: {str(error).splitlines()[0] if str(error) else 'it is broken'}.",
        hint="The file may be truncated. Send it again.",
    )
