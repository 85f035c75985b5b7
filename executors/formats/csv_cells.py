"""Reads the cells of CSV with pyarrow.csv."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from executors.errors import InvalidContent
from executors.formats.batches import BadRecords
from executors.formats.encodings import escaped, is_valid
from executors.formats.records import Chunk, Offsets
from ir.formats import Csv, Tsv


class CellReader:
    """Reads the cells of complete records."""

    def __init__(self, fmt: Csv | Tsv, names: Sequence[str], wanted: Sequence[str], file: str) -> None:
        self._names, self._wanted, self._file = list(names), list(wanted), file
        self._encoding, self._delimiter, self._quote = fmt.encoding, fmt.delimiter, fmt.quote
        self._convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=["", *fmt.null_values],
            include_columns=self._wanted or self._names[:1],
            check_utf8=False,
        )

    def read(self, chunk: Chunk) -> tuple[Mapping[str, pa.Array], BadRecords]:
        """Return the columns of the readable records, and the unreadable records."""
        bad = BadRecords()
        data, remaining = self._without_broken(chunk, bad)
        ragged: list[tuple[int, str]] = []
        table = self._table(data, _note_in(ragged)) if len(remaining) else None
        for number, reason in ragged:
            index = int(remaining[number - 1])
            bad.add(index, reason, escaped(chunk.record(index)))
        found = len(bad.reasons) + (table.num_rows if table is not None else 0)
        if found != len(chunk.starts):
            raise records_differ(self._file, len(chunk.starts), found)
        if table is None:
            return {name: pa.array([], pa.string()) for name in self._wanted}, bad
        return {name: _one_array(table[name]) for name in self._wanted}, bad

    def _without_broken(self, chunk: Chunk, bad: BadRecords) -> tuple[bytes, Offsets]:
        """Return the bytes of the records with valid text, and their offsets. The others are added to `bad`."""
        every = np.arange(len(chunk.starts))
        if is_valid(chunk.data):
            return chunk.data, every
        for index, record in enumerate(chunk.records()):
            if not is_valid(record):
                bad.add(index, f"not valid {self._encoding}", escaped(record))
        remaining = np.array([index for index in every if index not in bad.reasons], dtype=np.int64)
        return b"\n".join(chunk.record(index) for index in remaining), remaining

    def _table(self, data: bytes, note: Callable[[arrow_csv.InvalidRow], str]) -> pa.Table:
        # `open_csv` parses in this thread. `read_csv` waits for another one, longer than a small file takes.
        with arrow_csv.open_csv(
            pa.py_buffer(data),
            read_options=arrow_csv.ReadOptions(use_threads=False, column_names=self._names, block_size=len(data) + 1),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char=self._quote,
                newlines_in_values=self._quote.encode() in data,
                invalid_row_handler=note,
            ),
            convert_options=self._convert,
        ) as reader:
            return reader.read_all()


def records_differ(file: str, scanned: int, found: int) -> InvalidContent:
    return InvalidContent(
        "source.records_differ",
        f"{file}: the scan found {scanned} records where the reader found {found}.",
        hint="The target was not loaded. Please report this file. It shows a bug in Flow.",
    )


def _note_in(ragged: list[tuple[int, str]]) -> Callable[[arrow_csv.InvalidRow], str]:
    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append((row.number, f"expected {row.expected_columns} cells, found {row.actual_columns}"))
        return "skip"

    return note


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
