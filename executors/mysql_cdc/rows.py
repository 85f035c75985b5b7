"""The rows of a followed table: from images in the log to lines of a file, and from there to Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from executors.change_log.effects import Key
from executors.change_log.lines import cell
from executors.change_log.window_files import LinesPart, blocks_of
from executors.formats.batches import BadRecords, Batches, sparse
from executors.model import SourceField
from executors.mysql.columns import Column, convert, schema_of
from executors.mysql.read import take_bad_rows
from executors.mysql_cdc.columns import Layout
from executors.mysql_cdc.stored import Decode

Values = list[bytes | None]


class RowImages:
    """Decodes the images of rows with the columns of one part of the log."""

    def __init__(self, layout: Layout, decoders: Sequence[Decode], key: Sequence[str], table: str) -> None:
        self._decoders = decoders
        self._null_bytes = (len(decoders) + 7) // 8
        shown = layout.shown
        self._shown = shown if len(shown) < len(decoders) else None
        names = [column.name for column in layout.columns]
        self._key = [(names.index(name), layout.columns[names.index(name)].column(table)) for name in key]

    def rows(self, data: bytes) -> Iterator[Values]:
        """Yield the images in their order."""
        at, end, nulls = 0, len(data), self._null_bytes
        while at < end:
            missing = int.from_bytes(data[at : at + nulls], "little")
            at += nulls
            row: Values = []
            for decode in self._decoders:
                if missing & 1:
                    row.append(None)
                else:
                    value, at = decode(data, at)
                    row.append(value)
                missing >>= 1
            yield row

    def key(self, row: Values) -> Key:
        """Return the key of a row in the texts that the target reads."""
        return tuple(key_text(row[place] or b"", column) for place, column in self._key)

    def line(self, row: Values) -> bytes:
        return line_of(row if self._shown is None else [row[place] for place in self._shown])


def key_text(value: bytes, column: Column) -> bytes:
    """Return a value of a key as a text of the target's type."""
    if column.field.type.kind == "binary":
        return b"\\x" + value.hex().upper().encode()
    return value + column.suffix.encode()


def line_of(row: Sequence[bytes | None]) -> bytes:
    return b",".join([cell(value) if value is not None else b"" for value in row]) + b"\n"


@dataclass(frozen=True, slots=True)
class RowsReader:
    """Reads lines of rows. The number of a record is that of its change."""

    columns: tuple[Column, ...]

    def read(self, part: LinesPart, fields: Sequence[SourceField]) -> Batches:
        schema = schema_of(fields)
        for lines, numbers in blocks_of(part):
            yield self._batch(lines, numbers, schema)

    def _batch(self, lines: list[bytes], numbers: list[int], schema: pa.Schema) -> pa.RecordBatch:
        raw, bad = _raw(lines, len(self.columns)), BadRecords()
        try:
            arrays = self._arrays(raw)
        except pa.ArrowInvalid:
            rows = list(zip(*(values.to_pylist() for values in raw), strict=True))
            bad = take_bad_rows(rows, self.columns)
            arrays = self._arrays([pa.array(values, pa.binary()) for values in zip(*rows, strict=True)])
        hidden = [
            pa.array(np.zeros(len(lines), dtype=np.int32)),
            pa.array(np.array(numbers, dtype=np.int64)),
            sparse(len(lines), bad.reasons),
            sparse(len(lines), bad.raw),
        ]
        return pa.RecordBatch.from_arrays([*hidden, *arrays], schema=schema)

    def _arrays(self, raw: Sequence[pa.Array]) -> list[pa.Array]:
        return [convert(values, column) for values, column in zip(raw, self.columns, strict=True)]


def _raw(lines: list[bytes], count: int) -> list[pa.Array]:
    """Return the cells of lines, by column. A cell without quotes is NULL."""
    text, names = b"".join(lines), [str(i) for i in range(count)]
    table = pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(column_names=names, use_threads=False, block_size=len(text) + 1),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.binary()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    if table.num_rows != len(lines):
        raise AssertionError(f"{len(lines)} lines have become {table.num_rows} rows")
    return [column.combine_chunks() for column in table.columns]
