"""DuckDB files. Values arrive as the text that DuckDB writes, in which each type has all its digits."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from executors.database_files.engine.base import (
    EngineLimits,
    EngineSession,
    FoundColumn,
    Refused,
    TextRows,
    disk_is_full,
    locked,
    not_a_database,
    out_of_memory,
    refused,
    require_unique,
)

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 2048
"""The number of rows of DuckDB's own vectors."""

_TEXT = "CAST({} AS VARCHAR)"
_TYPES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("tinyint", "smallint", "integer", "utinyint", "usmallint"), ("integer", _TEXT)),
    **dict.fromkeys(("bigint", "uinteger"), ("bigint", _TEXT)),
    "ubigint": ("decimal(20,0)", _TEXT),
    **dict.fromkeys(("hugeint", "uhugeint"), ("decimal(39,0)", _TEXT)),
    "float": ("float", "CAST(CAST({} AS DOUBLE) AS VARCHAR)"),
    "double": ("float", _TEXT),
    "boolean": ("boolean", _TEXT),
    "date": ("date", _TEXT),
    "time": ("time", _TEXT),
    **dict.fromkeys(("timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"), ("timestamp", _TEXT)),
    "timestamp with time zone": ("timestamptz", _TEXT),
    "uuid": ("uuid", _TEXT),
    "blob": ("binary", r"'\x' || hex({})"),
    **dict.fromkeys(("list", "array", "struct", "map", "union"), ("json", "CAST(to_json({}) AS VARCHAR)")),
    "json": ("json", _TEXT),
}
"""By DuckDB's name of the type. Everything else is text."""


class DuckdbSession(EngineSession):
    def __init__(self, conn: duckdb.DuckDBPyConnection, path: Path, limits: EngineLimits) -> None:
        self._conn, self._path, self._limits = conn, path, limits

    def columns(self, statement: str) -> Sequence[FoundColumn]:
        with self._translated():
            found = self._query(statement)
            names, kinds = found.columns, found.types
        require_unique(self._path.name, names)
        return [_column(name, kind) for name, kind in zip(names, kinds, strict=True)]

    def rows(self, statement: str, columns: Sequence[FoundColumn]) -> Iterator[TextRows]:
        import pyarrow as pa

        with self._translated():
            for batch in _raising(self._query(statement).to_arrow_reader(_BATCH_ROWS)):
                yield TextRows(batch.num_rows, [column.cast(pa.string()) for column in batch.columns])

    def _query(self, statement: str) -> duckdb.DuckDBPyRelation:
        """Return the rows of one SELECT. DuckDB's own parser decides, which may read a query otherwise than sqlglot."""
        found = duckdb.extract_statements(statement)
        if [part.type for part in found] != [duckdb.StatementType.SELECT]:
            raise Refused(
                "query.not_allowed", f"{self._path.name}: the query is not one SELECT.", "Write one plain SELECT."
            )
        return self._conn.sql(statement)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except duckdb.Error as error:
            raise _failure(error, self._path.name, self._limits) from None


class Duckdb:
    """While one process has the file open, no other one can write to it."""

    @contextmanager
    def connect(self, path: Path, limits: EngineLimits) -> Iterator[DuckdbSession]:
        try:
            conn = duckdb.connect(str(path), read_only=True, config=_settings(limits))
            conn.execute("SET TimeZone = 'UTC'")
        except duckdb.Error as error:
            raise _failure(error, path.name, limits) from None
        with conn:
            yield DuckdbSession(conn, path, limits)


ENGINE = Duckdb()


def _own_memory(limits: EngineLimits) -> int:
    """Return the memory that DuckDB plans with. It does not count the values that functions build."""
    return limits.memory // 2


def _settings(limits: EngineLimits) -> dict[str, str | bool | int | float | list[str]]:
    return {
        # The query reads nothing but the file: no other file, no network, no extension, no variable of Python.
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
        "memory_limit": f"{_own_memory(limits) >> 20}MiB",
        "max_temp_directory_size": f"{limits.disk >> 30}GiB",
        "temp_directory": tempfile.gettempdir(),
        "threads": "1",
    }


_ERRORS = {
    "Conversion Error": duckdb.ConversionException,
    "IO Error": duckdb.IOException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Serialization Error": duckdb.SerializationException,
}
"""By the beginning of the text. Others have no failure of their own."""


def _raising(batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches. After the first of them, errors of DuckDB arrive as errors of Arrow, which only quote them."""
    import pyarrow as pa

    try:
        yield from batches
    except (OSError, pa.ArrowException) as error:
        text = str(error)
        raise _ERRORS.get(text.partition(": ")[0], duckdb.Error)(text) from None


def _column(name: str, kind: object) -> FoundColumn:
    ident = str(getattr(kind, "id", kind)).lower()
    if ident == "decimal":
        digits = dict(kind.children)  # type: ignore[attr-defined]
        return FoundColumn(name, f"decimal({digits['precision']},{digits['scale']})", _TEXT)
    if str(kind).lower() == "json":
        ident = "json"
    return FoundColumn(name, *_TYPES.get(ident, ("string", _TEXT)))


def _failure(error: duckdb.Error, name: str, limits: EngineLimits) -> Refused:
    text = str(error).partition(": ")[2] or str(error)
    if "lock" in text and isinstance(error, duckdb.IOException):
        return locked(name)
    if isinstance(error, duckdb.IOException | duckdb.SerializationException | duckdb.FatalException):
        return not_a_database(name, "DuckDB")
    if isinstance(error, duckdb.PermissionException):
        return Refused(
            "query.not_allowed",
            f"{name}: the query reads more than the tables of the file.",
            "Write one plain SELECT on tables of the file. Other files need a source of their own.",
        )
    if isinstance(error, duckdb.CatalogException):
        return refused("source.table_unknown", f"{name} lacks what the source names:", text, "Correct the name.")
    if isinstance(error, duckdb.BinderException | duckdb.ParserException):
        hint = "Correct the query."
        return refused("source.statement_refused", f"DuckDB rejects the query on {name}:", text, hint)
    if isinstance(error, duckdb.OutOfMemoryException):
        is_disk = "temp_directory" in text or "temporary" in text.lower()
        return disk_is_full(name, limits.disk) if is_disk else out_of_memory(name, _own_memory(limits))
    return Refused(
        "source.failed",
        f"DuckDB cannot read {name} ({type(error).__name__}).",
        "Run the query with DuckDB itself; it may convert a value that does not fit.",
    )
