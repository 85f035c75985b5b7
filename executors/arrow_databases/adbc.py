"""Sessions of ADBC drivers, and the columns and errors as these describe them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib import import_module
from typing import Any

import pyarrow as pa

from executors.arrow_databases.base import DriverError, ResultColumn, Session
from executors.formats.closing import closed_after


class AdbcSession(Session):
    """A session of a driver with the module `dbapi`. `options` are set for each statement."""

    def __init__(self, conn: Any, options: Mapping[str, str | int] | None = None) -> None:
        self._conn, self._options = conn, dict(options or {})
        self._cursor: Any = None
        self._lock = threading.Lock()
        """Held while a statement is cancelled, which must not be closed meanwhile."""

    def run(self, statement: str) -> None:
        """Run a statement that returns no rows."""
        with closing(self._conn.cursor()) as cursor:
            cursor.execute(statement)

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        with closing(self._conn.cursor(adbc_stmt_kwargs=self._options)) as cursor:
            self._cursor = cursor
            try:
                cursor.execute(statement)
                with closing(_reader_of(cursor)) as reader:
                    yield pa.RecordBatch.from_pylist([], schema=reader.schema)
                    yield from reader
            finally:
                with self._lock:
                    self._cursor = None

    def describe(self, statement: str) -> Sequence[ResultColumn]:
        with closed_after(self.batches(statement)) as batches:
            return [_described(field) for field in next(batches).schema]

    def cancel(self) -> None:
        with self._lock:
            if self._cursor is not None:
                self._cursor.adbc_cancel()

    def close(self) -> None:
        with suppress(Exception):  # It may be broken, and nothing was changed.
            self._conn.close()


def _reader_of(cursor: Any) -> Any:
    """Return the rows of a cursor. The reader that `fetch_record_batch` returns raises an OSError for every error of
    the database, without its number; this one raises those of the driver."""
    reader = import_module("adbc_driver_manager._reader").AdbcRecordBatchReader  # Each driver brings it along.
    stream = cursor.fetch_arrow()
    return reader._import_from_c(stream.address)


def _described(field: pa.Field) -> ResultColumn:
    """Return a column by its Arrow type: `int64`, `decimal`, `timestamp`, `timestamp utc`, `list`."""
    kind = field.type
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_decimal(kind):
        return ResultColumn(field.name, "decimal", kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return ResultColumn(field.name, "timestamp" if kind.tz is None else "timestamp utc")
    name = str(kind).partition("[")[0].partition("<")[0]
    return ResultColumn(field.name, name.removeprefix("large_").removesuffix("_view"))


def driver_error(error: BaseException) -> DriverError | None:
    """Return the error of an ADBC driver: its SQLSTATE, or the name of its status if it has none."""
    if not hasattr(error, "sqlstate"):
        return None
    state = str(error.sqlstate or "").strip("\0 ")
    status = getattr(error, "status_code", None)
    return DriverError(state if state and state != "00000" else getattr(status, "name", ""), str(error))
