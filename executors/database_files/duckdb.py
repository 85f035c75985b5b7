"""DuckDB files. Values arrive as the text that DuckDB writes, in which each type has all its digits."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import duckdb
import pyarrow as pa
from psycopg import sql

from executors.database_files.base import (
    Column,
    FileSession,
    Rows,
    Stamp,
    deadline,
    locked,
    not_a_database,
    refused,
    require_unique,
)
from executors.errors import Failure, Terminal, Transient
from executors.model import SourceField
from executors.reading import Bound
from ir.types import STRING, ColumnType

_BATCH_ROWS = 2048
"""The number of rows of DuckDB's own vectors."""
_INTERRUPT_SECONDS = 0.5

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    # The query reads nothing but the file: no other file, no network, no extension, no variable of Python.
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "1GB",
    "max_temp_directory_size": "20GB",
    "temp_directory": str(Path(tempfile.gettempdir()) / f"flow-duckdb-{os.getuid()}"),
    "threads": "1",
}
"""All sessions of a process on one file have the same settings, because they share its memory."""


@dataclass(frozen=True, slots=True)
class _Compared:
    """The texts of watermarks of a type, and the literal of one."""

    values: re.Pattern[str]
    literal: str


_DAY = r"[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_WHOLE = _Compared(re.compile(r"-?[0-9]{1,18}"), "{}")
_COMPARED = {
    ("integer", "integer"): _WHOLE,
    ("bigint", "bigint"): _WHOLE,
    ("integer", "bigint"): _WHOLE,
    ("bigint", "integer"): _WHOLE,
    ("date", "date"): _Compared(re.compile(_DAY), "DATE '{}'"),
    ("timestamp", "timestamp without time zone"): _Compared(
        re.compile(_DAY + r" [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"), "TIMESTAMP '{}'"
    ),
}
"""By the type of the column and the declared type of the watermark."""

_TEXT = "CAST({} AS VARCHAR)"
_KINDS: Mapping[str, tuple[ColumnType, str]] = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "utinyint", "usmallint"), (ColumnType("integer"), _TEXT)),
    **dict.fromkeys(("bigint", "uinteger"), (ColumnType("bigint"), _TEXT)),
    "ubigint": (ColumnType("decimal", 20, 0), _TEXT),
    **dict.fromkeys(("hugeint", "uhugeint"), (ColumnType("decimal", 39, 0), _TEXT)),
    "float": (ColumnType("float"), "CAST(CAST({} AS DOUBLE) AS VARCHAR)"),
    "double": (ColumnType("float"), _TEXT),
    "boolean": (ColumnType("boolean"), _TEXT),
    "date": (ColumnType("date"), _TEXT),
    "time": (ColumnType("time"), _TEXT),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), (ColumnType("timestamp"), _TEXT)),
    "timestamp with time zone": (ColumnType("timestamptz"), _TEXT),
    "uuid": (ColumnType("uuid"), _TEXT),
    "blob": (ColumnType("binary"), r"'\x' || hex({})"),
    **dict.fromkeys(("list", "array", "struct", "map", "union"), (ColumnType("json"), "CAST(to_json({}) AS VARCHAR)")),
    "json": (ColumnType("json"), _TEXT),
}
"""By DuckDB's name of the type. Everything else is text."""


class DuckdbSession(FileSession):
    def __init__(self, conn: duckdb.DuckDBPyConnection, path: Path, seconds: float) -> None:
        self._conn, self._path, self._seconds = conn, path, seconds

    def columns(self, rows: sql.Composable) -> tuple[Column, ...]:
        with self._translated():
            # The rows themselves: around a query, DuckDB would rename repeated columns.
            text = rows.as_string()
            found = self._query(text[1:-1] if text.startswith("(") else f"FROM {text}")
            names, kinds = found.columns, found.types
        require_unique(self._path.name, names)
        return tuple(_column(name, kind) for name, kind in zip(names, kinds, strict=True))

    def rows(self, statement: str, columns: Sequence[Column]) -> Iterator[Rows]:
        with self._translated():
            for batch in _raising(self._query(statement).to_arrow_reader(_BATCH_ROWS)):
                yield Rows(batch.num_rows, [column.cast(pa.string()) for column in batch.columns])

    def interrupt(self) -> None:
        self._conn.interrupt()

    def _query(self, statement: str) -> duckdb.DuckDBPyRelation:
        """Return the rows of one SELECT. DuckDB's own parser decides, which may read a query otherwise than sqlglot."""
        found = duckdb.extract_statements(statement)
        if [part.type for part in found] != [duckdb.StatementType.SELECT]:
            raise Terminal(
                "query.not_allowed", f"{self._path.name}: the query is not one SELECT.", hint="Write one plain SELECT."
            )
        return self._conn.sql(statement)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise _failure(error, self._path.name, self._seconds) from None


class Duckdb:
    """While one process has the file open, no other one can write to it. All targets read the same rows."""

    is_shared = True
    log_suffix: ClassVar[str] = ".wal"

    @contextmanager
    def connect(self, path: Path, seconds: float) -> Iterator[DuckdbSession]:
        with _one_file(path), _connected(path, seconds) as session:
            yield session

    def past(self, column: Column, bound: Bound) -> sql.Composable | None:
        known = _COMPARED.get((column.field.type.kind, bound.type.declared))
        if known is None or not known.values.fullmatch(bound.value):
            return None
        value = sql.SQL(known.literal.format(bound.value))
        return sql.SQL("({0} >= {1} OR {0} IS NULL)").format(sql.Identifier("q", column.field.name), value)


ENGINE = Duckdb()


@dataclass(slots=True)
class _Opened:
    """The file that the sessions of this process on one path read, and their number."""

    stamp: Stamp
    sessions: int = 0


_OPENED: dict[Path, _Opened] = {}
_OPENING = threading.Lock()


@contextmanager
def _one_file(path: Path) -> Iterator[None]:
    """Refuse a file that was replaced while another session of this process reads the former one: DuckDB would let the
    new session read the former one too."""
    stamp = Stamp.of(path, Duckdb.log_suffix)
    with _OPENING:
        opened = _OPENED.setdefault(path, _Opened(stamp))
        if opened.stamp != stamp:
            raise Transient(
                "source.changed",
                f"{path.name} was replaced while another run reads it.",
                hint="Run again when that run has finished.",
            )
        opened.sessions += 1
    try:
        yield
    finally:
        with _OPENING:
            opened.sessions -= 1
            if not opened.sessions:
                del _OPENED[path]


@contextmanager
def _connected(path: Path, seconds: float) -> Iterator[DuckdbSession]:
    try:
        conn = duckdb.connect(str(path), read_only=True, config=_SETTINGS)
        conn.execute("SET TimeZone = 'UTC'")
    except duckdb.Error as error:
        raise _failure(error, path.name, seconds) from None
    closed = threading.Event()
    threading.Thread(target=_end_late, args=(conn, min(seconds, threading.TIMEOUT_MAX), closed), daemon=True).start()
    try:
        yield DuckdbSession(conn, path, seconds)
    finally:
        closed.set()
        conn.close()


def _end_late(conn: duckdb.DuckDBPyConnection, seconds: float, closed: threading.Event) -> None:
    """Interrupt all statements that run after a time. An interruption between two statements ends neither of them."""
    is_closed = closed.wait(seconds)
    while not is_closed:
        conn.interrupt()
        is_closed = closed.wait(_INTERRUPT_SECONDS)


_KINDS_OF_ERRORS = {
    "Conversion Error": duckdb.ConversionException,
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Serialization Error": duckdb.SerializationException,
}
"""By the beginning of the text. Others have no failure of their own."""


def _raising(batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches. After the first of them, errors of DuckDB arrive as errors of Arrow, which only quote them."""
    try:
        yield from batches
    except (OSError, pa.ArrowException) as error:
        text = str(error)
        raise _KINDS_OF_ERRORS.get(text.partition(": ")[0], duckdb.Error)(text) from None


def _column(name: str, kind: object) -> Column:
    ident = str(getattr(kind, "id", kind)).lower()
    if ident == "decimal":
        digits = dict(kind.children)  # type: ignore[attr-defined]
        found = ColumnType("decimal", int(digits["precision"]), int(digits["scale"])), _TEXT
    elif str(kind).lower() == "json":
        found = _KINDS["json"]
    else:
        found = _KINDS.get(ident, (STRING, _TEXT))
    column, expression = found
    return Column(SourceField(name, column, as_text=column.kind not in ("string", "json")), expression)


def _failure(error: duckdb.Error, name: str, seconds: float) -> Failure:
    text = str(error).partition(": ")[2] or str(error)
    if isinstance(error, duckdb.InterruptException):
        return deadline(seconds)
    if "lock" in text and isinstance(error, duckdb.IOException):
        return locked(name)
    if isinstance(error, duckdb.IOException | duckdb.SerializationException | duckdb.FatalException):
        return not_a_database(name, "DuckDB")
    if isinstance(error, duckdb.PermissionException):
        return Terminal(
            "query.not_allowed",
            f"{name}: the query reads more than the tables of the file.",
            hint="Write one plain SELECT on tables of the file. Other files need a source of their own.",
        )
    if isinstance(error, duckdb.CatalogException):
        return refused("source.table_unknown", f"{name} lacks what the source names:", text, "Correct the name.")
    if isinstance(error, duckdb.BinderException | duckdb.ParserException):
        hint = "Correct the query."
        return refused("source.statement_refused", f"DuckDB rejects the query on {name}:", text, hint)
    if isinstance(error, duckdb.OutOfMemoryException):
        return Terminal(
            "source.expands_too_much",
            f"The query on {name} needs more than 1 GB of memory.",
            hint="Read the table without sorting or joining it, and leave the rest to the pipeline.",
        )
    return Terminal(
        "source.failed",
        f"DuckDB cannot read {name} ({type(error).__name__}).",
        hint="Run the query with DuckDB itself; it may convert a value that does not fit.",
    )
