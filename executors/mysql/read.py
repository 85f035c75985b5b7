"""Reads rows from MySQL and converts them to Arrow. Runs inside Spark's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from executors.errors import of_node
from executors.formats.batches import BadRecords, Batches, batch_of_rows, trailer
from executors.model import SourceField
from executors.mysql.client import Row, connect
from executors.mysql.columns import Column, array_of, schema_of
from executors.reading import QueryPart
from executors.secrets import decrypt

_LONGEST_SHOWN = 10_000


@dataclass(frozen=True, slots=True)
class MysqlReader:
    """Reads the rows of one statement, which end with a trailer that holds their number. The first value of each row is
    not read."""

    encrypted_connection: str
    columns: tuple[Column, ...]
    seconds: int
    node: str

    def read(self, part: QueryPart, fields: Sequence[SourceField]) -> Batches:
        schema, count = schema_of(fields), 0
        with of_node(self.node), connect(decrypt(self.encrypted_connection), seconds=self.seconds) as session:
            for found in session.stream(part.statement):
                rows = [row[1:] for row in found]
                yield _batch(rows, count + 1, self.columns, schema)
                count += len(rows)
            session.require_whole()
        yield trailer(schema, count)


def _batch(rows: list[Row], first: int, columns: Sequence[Column], schema: pa.Schema) -> pa.RecordBatch:
    try:
        arrays, bad = _arrays(rows, columns), BadRecords()
    except pa.ArrowInvalid:
        bad = take_bad_rows(rows, columns)
        arrays = _arrays(rows, columns)
    return batch_of_rows(first, arrays, bad, schema)


def _arrays(rows: Sequence[Row], columns: Sequence[Column]) -> list[pa.Array]:
    return [array_of(values, column) for values, column in zip(zip(*rows, strict=True), columns, strict=True)]


def take_bad_rows(rows: list[Row], columns: Sequence[Column]) -> BadRecords:
    """Replace rows with a value that cannot be read by rows of NULL, and return them as bad."""
    bad = BadRecords()
    for index, row in enumerate(rows):
        for value, column in zip(row, columns, strict=True):
            try:
                array_of([value], column)
            except pa.ArrowInvalid:
                raw = b",".join(cell or b"" for cell in row)[:_LONGEST_SHOWN].decode(errors="backslashreplace")
                bad.add(index, f"Column {column.field.name!r} holds a value that cannot be read.", raw)
                rows[index] = (None,) * len(columns)
                break
    return bad
