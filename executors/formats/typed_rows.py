"""Frames rows of files whose format has types: values of Arrow types become values of the types of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from executors.formats.arrow_types import convert_native, convert_native_to_text, shown_value
from executors.formats.batches import BadRecords, Batches, Framer
from executors.formats.limits import MOST_ROW_BYTES
from executors.formats.row_bytes import row_sizes
from executors.model import SourceField
from ir.nodes import SourceColumn
from ir.types import STRING, ColumnType


class TypedRows:
    """Frames the rows of one split. A value that its column type cannot represent, such as nanoseconds, makes a bad
    row."""

    def __init__(self, fields: Sequence[SourceField], declared: Sequence[SourceColumn], framer: Framer) -> None:
        self._fields, self._framer = fields, framer
        self._declared = {column.name: ColumnType.parse(column.type) for column in declared}

    def frame(
        self,
        batch: pa.RecordBatch,
        failed: Mapping[int, str] | None = None,
        show: Callable[[int], str] | None = None,
    ) -> Batches:
        """Return the rows of a batch that has all columns of the fields. `failed` are reasons for rows that are known
        to be bad, by position; `show` returns a row as text."""
        bad = BadRecords()
        show = show or (lambda index: shown_row(batch.slice(index, 1)))
        columns: dict[str, pa.Array] = {}
        if batch.num_rows == 1 and row_sizes(batch)[0] > MOST_ROW_BYTES:
            bad.add(0, f"the row takes more than {MOST_ROW_BYTES >> 20} MB", "(too large to show)")
            yield from self._framer.batches(1, columns, bad)
            return
        for index, reason in (failed or {}).items():
            bad.add(index, reason, show(index))
        for column in self._fields:
            values = batch.column(column.name)
            if column.type == STRING and column.name in self._declared:
                columns[column.name], lost = convert_native_to_text(values, self._declared[column.name])
            else:
                columns[column.name], lost = convert_native(values, column.type)
            for index in pc.indices_nonzero(lost).to_pylist():
                if index not in bad.reasons:
                    bad.add(index, f"column {column.name!r} does not fit {column.type}", show(index))
        if bad.reasons:
            keep = pa.array([index not in bad.reasons for index in range(batch.num_rows)])
            columns = {name: values.filter(keep) for name, values in columns.items()}
        yield from self._framer.batches(batch.num_rows, columns, bad)


def shown_row(row: pa.RecordBatch) -> str:
    """Return one row as text for display."""
    pairs = zip(row.schema.names, row.columns, strict=True)
    return "; ".join(f"{name}: {shown_value(values)}" for name, values in pairs)
