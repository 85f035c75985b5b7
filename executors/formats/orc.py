"""Reads ORC: a file is one split, values keep their types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from executors.errors import Transient
from executors.formats.arrow_types import column_type
from executors.formats.batches import Batches, Framer, typed_schema
from executors.formats.columns import require_columns
from executors.formats.files import BLOCK_BYTES, LOCAL_FILES, FileStore, HashedBlocks, open_verified
from executors.formats.limits import BATCH_BYTES, MOST_ROW_BYTES, expands_too_much, rows_for_cells
from executors.formats.orc_footer import Footer, malformed, read_footer
from executors.formats.row_bytes import bounded
from executors.formats.splits import whole_file
from executors.formats.typed_rows import TypedRows
from executors.formats.verified import VerifiedStream
from executors.model import FileScan, SourceField, SourceFile, Split
from ir.formats import Orc
from ir.nodes import SourceColumn

_MOST_ROWS, _ROWS_WITHOUT_STATISTICS = 1 << 14, 64
_NS, _LEAST_FRACTION_NS = 10**9, 999_999
_MOST_OFFSET_NS = 15 * 3600 * _NS
"""More than the offset of any time zone."""
_SAFETY = 4
"""How many times larger than the average the rows of a batch may be."""


def scan(
    file: SourceFile,
    fmt: Orc,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
) -> FileScan:
    """Hash a file and read its footer. Raises Terminal for an unsupported type and a missing declared column."""
    with store.open(file) as stream:
        blocks = HashedBlocks(stream)
        for _ in blocks:
            pass
        footer, fields = _described(stream, file, declared)
    splits = whole_file(file, blocks.sha256, footer.rows)
    return FileScan(file, blocks.sha256, footer.rows, fields, splits).with_checksums(blocks.checksums)


def scan_head(
    file: SourceFile,
    fmt: Orc,
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    most_bytes: int,
) -> FileScan:
    """Read the footer of a file. The split is the whole file. Raises as `scan`."""
    with store.open(file) as stream:
        footer, fields = _described(stream, file, declared)
    return FileScan(file, "", footer.rows, fields, whole_file(file, "", footer.rows)).with_checksums(None)


def _described(
    stream: Any, file: SourceFile, declared: Sequence[SourceColumn]
) -> tuple[Footer, tuple[SourceField, ...]]:
    footer = read_footer(stream, file.size, file.name)
    schema = _fragment(stream, file).physical_schema
    require_columns(file.name, schema.names, declared)
    return footer, tuple(SourceField(f.name, column_type(f.type, f.name, file.name)) for f in schema)


def read(
    split: Split,
    fmt: Orc,
    fields: Sequence[SourceField],
    declared: Sequence[SourceColumn] = (),
    *,
    store: FileStore = LOCAL_FILES,
    block_bytes: int = BLOCK_BYTES,
) -> Batches:
    """Return the rows of a split, typed. A value that its column type cannot represent makes a bad row."""
    with open_verified(split, store) as stream:
        footer = read_footer(stream, split.file.size, split.file.name)
        fragment = _fragment(stream, split.file)
        names = set(fragment.physical_schema.names)
        wanted = [field for field in fields if field.name in names]
        rows = TypedRows(wanted, declared, Framer(split, typed_schema(fields)))
        batches = fragment.to_batches(
            columns=[field.name for field in wanted],
            batch_size=_rows_for(footer, len(fields), block_bytes, split.file.name),
            batch_readahead=0,
            fragment_readahead=0,
            use_threads=False,
        )
        for batch in _reading(batches, stream, split.file):
            for piece in bounded(batch, BATCH_BYTES):
                yield from rows.frame(piece, _ambiguous_times(piece) if footer.is_by_java else None)


def _ambiguous_times(batch: pa.RecordBatch) -> dict[int, str]:
    """Return the rows with a time near the start of 1970. The Java library rounds the seconds of these by their sign in
    UTC, the library that reads them by their sign in the zone of the writer: the result can be wrong by one second."""
    failed: dict[int, str] = {}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if not pa.types.is_timestamp(values.type) or values.type.tz is not None:
            continue
        nanos = values.cast(pa.timestamp("ns")).view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        is_wrong = (abs(nanos) < _MOST_OFFSET_NS) & (nanos % _NS > _LEAST_FRACTION_NS)
        for index in is_wrong.nonzero()[0].tolist():
            failed.setdefault(index, f"column {name!r} is a time near 1970 that cannot be read exactly from ORC")
    return failed


def _rows_for(footer: Footer, columns: int, block_bytes: int, name: str) -> int:
    """Return how many rows to decode at once. Raises InvalidContent if a row of average size is too large."""
    if footer.bytes is None:
        return _ROWS_WITHOUT_STATISTICS
    average = footer.bytes / max(1, footer.rows)
    if average > MOST_ROW_BYTES:
        raise expands_too_much(name, f"its rows take {average / (1 << 20):,.0f} MB on average")
    most = min(_MOST_ROWS, rows_for_cells(columns), int(block_bytes * _SAFETY / max(1.0, average)))
    return max(1, most)


def _fragment(stream: Any, file: SourceFile) -> Any:
    from pyarrow import dataset  # It loads pandas, which processes that read no ORC do not need.

    stream.seek(0)
    try:
        fragment = dataset.OrcFileFormat().make_fragment(pa.PythonFile(stream, mode="r"))
        fragment.physical_schema  # noqa: B018 - reads the footer
    except (pa.ArrowException, OSError, Transient) as error:
        raise _why(stream, file, error) from error
    return fragment


def _reading(batches: Iterator[pa.RecordBatch], stream: VerifiedStream, file: SourceFile) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except (pa.ArrowException, OSError, Transient) as error:
        raise _why(stream, file, error) from error


def _why(stream: Any, file: SourceFile, error: Exception) -> Exception:
    """Return the failure of the stream if there is one: changed bytes are the cause of any error of the library."""
    text = str(error).splitlines()[0] if str(error) else "it is broken"
    return getattr(stream, "failure", None) or malformed(file.name, text)
