"""Calls a module for the rows of a batch, and finds the rows for which it fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from executors.errors import Terminal, Transient
from executors.model import ModuleCode
from executors.types import wire_type
from executors.wasm.code import new_guest
from executors.wasm.failures import GuestFailed, GuestTimedOut
from executors.wasm.limits import (
    BYTES_PER_CALL,
    MESSAGE_CHARACTERS,
    MOST_FAILING_ROWS,
    ROWS_PER_CALL,
    SECONDS_PER_CALL,
)
from executors.wasm.results import read_rows
from ir.ops import ERROR_COLUMN
from ir.types import ColumnType

CallColumn = tuple[str, str, ColumnType]
"""A column of a call: its name for the module, the frame column, and the type of the frame column."""


@dataclass(frozen=True, slots=True)
class CallModule:
    """A call of a module of the op at `node`. It adds the frame columns of `returned`, the boolean column `rejected`
    and the text column `message`, with the reason for each rejected row.

    The module gets only rows for which the boolean column `asked` is true; the others have NULL in all new columns.
    """

    node: str
    code: ModuleCode
    config: str
    access: tuple[str, ...]
    given: tuple[CallColumn, ...]
    returned: tuple[CallColumn, ...]
    asked: str
    rejected: str
    message: str

    @property
    def flags(self) -> list[str]:
        return [self.rejected]

    @property
    def outputs(self) -> list[str]:
        return [*(column for _, column, _ in self.returned), self.rejected, self.message]

    def given_schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, wire_type(kind).arrow) for name, _, kind in self.given])

    def returned_schema(self) -> pa.Schema:
        return pa.schema([pa.field(name, wire_type(kind).arrow) for name, _, kind in self.returned])

    def schema_bytes(self) -> bytes:
        """Return the schema of the rows that the module gets, as a stream of Arrow IPC without rows."""
        out = pa.BufferOutputStream()
        pa.ipc.new_stream(out, self.given_schema()).close()
        return bytes(out.getvalue())

    def run(self, columns: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
        """Return the new columns of a batch. Raises Terminal `custom.failing` and Transient `custom.timed_out`."""
        asked = pc.fill_null(columns[self.asked], False)
        rows = _rows(self, columns).filter(asked)
        found = _Batch(self).evaluate(rows)
        positions = np.cumsum(asked.to_numpy(zero_copy_only=False)) - 1
        at = pa.array(positions, pa.int64(), mask=~asked.to_numpy(zero_copy_only=False))
        messages = found.column(ERROR_COLUMN).take(at)
        made = {column: found.column(name).take(at) for name, column, _ in self.returned}
        return {**made, self.rejected: pc.is_valid(messages), self.message: messages}


def _rows(call: CallModule, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    schema = call.given_schema()
    arrays = [columns[column].cast(schema.field(name).type) for name, column, _ in call.given]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass(slots=True)
class _Batch:
    """The calls for one batch."""

    call: CallModule
    failing: int = 0
    expected: pa.Schema = field(init=False)

    def __post_init__(self) -> None:
        self.expected = self.call.returned_schema()

    def evaluate(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        found = [part for piece in _pieces(rows) for part in self._results(piece)]
        return pa.concat_batches(found) if found else self._failed(0, "")

    def _results(self, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the results of the rows in order. If the module fails, each half is tried on its own, down to the rows
        that fail alone."""
        try:
            yield self._apply(rows)
        except GuestFailed as failure:
            if rows.num_rows == 1:
                self._count(failure)
                yield self._failed(1, f"makes the module {self.call.code.name} fail: {failure}")
                return
            half = rows.num_rows // 2
            yield from self._results(_cut(rows, 0, half))
            yield from self._results(_cut(rows, half, rows.num_rows))
        except GuestTimedOut:
            message = f"A call of {self.call.code.name} took more than {SECONDS_PER_CALL} seconds."
            raise Transient("custom.timed_out", message, node=self.call.node) from None

    def _apply(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Call a new instance, so that no state passes from one call to another."""
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, rows.schema) as stream:
            stream.write_batch(rows)
        guest = new_guest(self.call.code, self.call.access)
        guest.prepare(self.call.schema_bytes(), self.call.config)
        found = read_rows(guest.apply(out.getvalue().to_pybytes(), rows.num_rows), self.expected, rows.num_rows)
        return _with_messages(found, self.call.code.name)

    def _count(self, failure: GuestFailed) -> None:
        self.failing += 1
        if self.failing > MOST_FAILING_ROWS:
            message = f"{self.call.code.name} fails for more than {MOST_FAILING_ROWS} rows of a batch."
            # The reason may contain values of a row, which belong in quarantine only.
            raise Terminal("custom.failing", message, node=self.call.node)

    def _failed(self, rows: int, message: str) -> pa.RecordBatch:
        arrays = [pa.nulls(rows, kind.type) for kind in self.expected]
        messages = pa.array([message] * rows, pa.string())
        return pa.RecordBatch.from_arrays([*arrays, messages], [*self.expected.names, ERROR_COLUMN])


def _with_messages(found: pa.RecordBatch, name: str) -> pa.RecordBatch:
    errors = found.column(ERROR_COLUMN)
    if errors.null_count == len(errors):
        return found
    texts = pc.utf8_slice_codeunits(errors, 0, MESSAGE_CHARACTERS)
    messages = pc.binary_join_element_wise(pa.scalar(f"is rejected by the module {name}"), texts, ": ")
    return found.set_column(found.num_columns - 1, ERROR_COLUMN, messages)


def _pieces(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows in pieces that a call may take."""
    size = max(1, rows.nbytes // max(rows.num_rows, 1))
    most = max(1, min(ROWS_PER_CALL, BYTES_PER_CALL // size))
    for start in range(0, rows.num_rows, most):
        yield _cut(rows, start, min(start + most, rows.num_rows))


def _cut(rows: pa.RecordBatch, start: int, end: int) -> pa.RecordBatch:
    """Return a copy of some rows. The padding of a slice would contain bytes of the rows after it, so that the result
    could depend on them."""
    return rows.take(pa.array(np.arange(start, end)))
