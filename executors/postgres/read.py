"""Reads rows from PostgreSQL by COPY in text form and converts them to Arrow. Runs inside Spark's tasks.

For every type, PostgreSQL's text form is exact. Values that Arrow can represent exactly are typed at once; all others
stay text until they are needed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from psycopg import sql

from executors.errors import Failure, Terminal
from executors.formats.batches import HIDDEN, BadRecords, Batches, sparse, trailer
from executors.formats.files import BLOCK_BYTES
from executors.model import Connection, DestinationColumn, SourceField
from executors.postgres.client import charset_of, connect, translate
from executors.postgres.ddl import Conn
from executors.postgres.session_settings import pin_transaction
from executors.secrets import decrypt
from ir.types import ColumnType

_TYPED = {
    "smallint": ColumnType("integer"),
    "integer": ColumnType("integer"),
    "bigint": ColumnType("bigint"),
    "real": ColumnType("float"),
    "double precision": ColumnType("float"),
    "boolean": ColumnType("boolean"),
}
"""Types that Arrow represents completely; they are parsed on arrival. `real` has fewer digits than a float64
distinguishes."""

_ARROW = {"integer": pa.int32(), "bigint": pa.int64(), "float": pa.float64(), "boolean": pa.bool_()}

_CONVERTED = frozenset({"date", "timestamp", "timestamptz", "time", "decimal", "binary"})
"""Types with values that Arrow lacks (infinity, years before 1, NaN): each value is parsed when it is needed."""


def field_of(column: DestinationColumn) -> SourceField:
    """Return a column of the source in the form that the pipeline reads."""
    kind = _TYPED.get(column.declared, column.type)
    return SourceField(column.name, kind, as_text=kind.kind in _CONVERTED)


def beyond_arrow(column: DestinationColumn) -> sql.Composed | None:
    """Return a condition: Arrow's type cannot represent the value. Return None if it can represent all values."""
    test = _BEYOND_ARROW.get(column.type.kind)
    return None if test is None or column.type.kind == "pg" else sql.SQL(test).format(sql.Identifier("q", column.name))


_OUT_OF_YEARS = "(NOT isfinite({0}) OR {0} < '0001-01-01' OR {0} >= '10000-01-01')"
_BEYOND_ARROW = {
    "date": _OUT_OF_YEARS,
    "timestamp": _OUT_OF_YEARS,
    # Excludes the first and last day of Arrow's range, so that the time zone does not matter.
    "timestamptz": "(NOT isfinite({0}) OR {0} < '0001-01-02Z' OR {0} >= '9999-12-31Z')",
    "time": "({0} = '24:00')",
    "decimal": "({0} = 'NaN')",
}


def copied_column(column: DestinationColumn) -> sql.Composed:
    """Return the expression that COPY writes for the column. As text, `char(n)` has no trailing blanks."""
    cast = "::text" if column.base in ("bpchar", "character") else ""
    return sql.SQL("q.{}" + cast).format(sql.Identifier(column.name))


@dataclass(frozen=True, slots=True)
class ReadSession:
    """Opens sessions that read for a run: one snapshot, read-only, each statement limited to `seconds`."""

    run_id: str
    seconds: int

    @property
    def application(self) -> str:
        return f"flow run {self.run_id} reads"

    @contextmanager
    def open(self, connection: Connection, snapshot: str = "") -> Iterator[Conn]:
        """Open a session in its transaction, on an exported snapshot if one is given."""
        with connect(connection, autocommit=True, application_name=self.application) as conn:
            with translate():
                conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                if snapshot:
                    conn.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(snapshot)))
                pin_transaction(conn, {"statement_timeout": f"{self.seconds}s", **self._watch(conn)})
            yield conn

    @staticmethod
    def _watch(conn: Conn) -> dict[str, str]:
        """Let the server detect a closed connection while it computes a result."""
        return {"client_connection_check_interval": "5s"} if conn.info.server_version >= 140000 else {}

    def interrupt(self, connection: Connection) -> None:
        """Cancel everything that sessions of this run are reading in this database."""
        with connect(connection, autocommit=True, timeout=5) as conn, translate():
            conn.execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND usename = session_user AND state = 'active'",
                [self.application],
            )


@dataclass(frozen=True, slots=True)
class TablePart:
    """The part that one COPY reads. `start` and `end` are blocks of the table; `first_record` is above all earlier
    numbers."""

    start: int
    end: int
    first_record: int
    statement: str


@dataclass(frozen=True, slots=True)
class SnapshotReader:
    """Reads parts of one snapshot. Each part ends with a trailer that holds the number of its rows."""

    encrypted_connection: str
    session: ReadSession
    snapshot: str
    node: str

    def read(self, part: TablePart, fields: Sequence[SourceField]) -> Batches:
        schema, rows = snapshot_schema(fields), 0
        with as_source(self.node), self.session.open(decrypt(self.encrypted_connection), self.snapshot) as conn:
            may_be_no_text = charset_of(conn).encoding == "SQL_ASCII"
            for lines in _blocks(conn, part.statement):
                bad = take_bad_lines(lines, [field.name for field in fields]) if may_be_no_text else BadRecords()
                first = part.first_record + rows
                numbers = np.arange(first, first + len(lines), dtype=np.int64)
                yield batch_of_lines(lines, numbers, schema, bad)
                rows += len(lines)
        yield trailer(schema, rows)


def snapshot_schema(fields: Sequence[SourceField]) -> pa.Schema:
    """Return the schema: the hidden columns, then each field in the type in which it is read."""
    return pa.schema([*HIDDEN, *(pa.field(f.name, _ARROW.get(f.type.kind, pa.string())) for f in fields)])


def _blocks(conn: Conn, statement: str) -> Iterator[list[bytes]]:
    """Yield rows as CSV, about `BLOCK_BYTES` at a time. COPY returns them one by one."""
    held: list[bytes] = []
    size = sent = 0
    with translate(), conn.cursor() as cursor:
        with cursor.copy(statement) as copy:
            for row in copy:
                held.append(bytes(row))
                size += len(held[-1])
                if size >= BLOCK_BYTES:
                    sent += len(held)
                    yield held
                    held, size = [], 0
        if held:
            sent += len(held)
            yield held
        if cursor.rowcount != sent:
            raise _rows_lost(cursor.rowcount, sent)


def batch_of_lines(lines: Sequence[bytes], numbers: Any, schema: pa.Schema, bad: BadRecords) -> pa.RecordBatch:
    """Return rows that COPY or a window of changes has written as CSV; `numbers` is an array of their numbers."""
    columns = {field.name: field.type for field in list(schema)[len(HIDDEN) :]}
    text, rows = b"".join(lines), len(lines)
    table = pa_csv.read_csv(
        pa.BufferReader(text),
        read_options=pa_csv.ReadOptions(column_names=list(columns), use_threads=False, block_size=len(text) + 1),
        # A row with a single NULL is an empty line.
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pa_csv.ConvertOptions(
            column_types=columns,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    if table.num_rows != rows:
        raise _rows_lost(rows, table.num_rows)
    hidden = [
        pa.array(np.zeros(rows, dtype=np.int32)),
        pa.array(numbers),
        sparse(rows, bad.reasons),
        sparse(rows, bad.raw),
    ]
    return pa.RecordBatch.from_arrays([*hidden, *(c.combine_chunks() for c in table.columns)], schema=schema)


def take_bad_lines(lines: list[bytes], names: Sequence[str]) -> BadRecords:
    """Replace rows with invalid UTF-8 by rows of NULL and return them as bad: a database without an encoding may store
    any bytes."""
    bad = BadRecords()
    for index, line in enumerate(lines):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raw = line.decode(errors="backslashreplace").removesuffix("\n")
            bad.add(
                index,
                f"Column {_bad_column(line, names)!r} holds the byte {line[error.start]:02X}, which is not UTF-8.",
                raw,
            )
            lines[index] = b"," * (len(names) - 1) + b"\n"
    return bad


def _bad_column(line: bytes, names: Sequence[str]) -> str:
    # In this encoding every byte is a character.
    (cells,) = csv.reader([line.decode("latin-1")])
    return next(name for name, cell in zip(names, cells, strict=True) if not _is_text(cell.encode("latin-1")))


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _rows_lost(sent: int, read: int) -> Terminal:
    return Terminal(
        "rows.lost",
        f"The database sent {sent:,} rows; {read:,} could be read.",
        hint="The target was not loaded. Please report this with the types of the columns.",
    )


@contextmanager
def as_source(node: str) -> Iterator[None]:
    """Report failures of the connection as failures of the source, not of a target."""
    try:
        yield
    except Failure as failure:
        if failure.code.startswith("target."):
            failure.code = f"source.{failure.code.removeprefix('target.')}"
        failure.node = failure.node or node
        raise
