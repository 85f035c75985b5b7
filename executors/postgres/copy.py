"""Binary COPY of Arrow batches into staging. Runs inside Spark's tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType

import psycopg
import pyarrow as pa
from pgpq import ArrowToPostgresBinaryEncoder
from psycopg import sql
from psycopg.rows import TupleRow

from executors.errors import Terminal
from executors.model import Connection
from executors.postgres.client import connect, translate
from executors.postgres.meta import STAGING
from executors.postgres.staging import StagingTables, attach, create_task_table
from executors.rejects import REJECT_SCHEMA
from executors.stage_plan import TASK

_REJECTS_OF_TASK = REJECT_SCHEMA.append(pa.field(TASK, pa.int64()))


class StageWriter:
    """Writes the output of one task, good rows and rejects, each with a COPY of its own.

    Use it as a context manager; without `commit()` nothing is stored. `schema` is the schema of the good batches:
    `_flow_file int32`, `_flow_record int64` and the stage columns by name. All rows carry the id of their task.
    """

    def __init__(self, connection: Connection, tables: StagingTables, schema: pa.Schema, task: int) -> None:
        self._connection, self._tables, self._task = connection, tables, task
        self._schema = schema
        self._good: _Stream | None = None
        self._rejects: _Stream | None = None

    def __enter__(self) -> StageWriter:
        return self

    def write_good(self, batch: pa.RecordBatch) -> None:
        if self._good is None:
            self._good = _GoodStream(self._connection, self._tables, self._schema, self._task)
        self._good.write(batch)

    def write_rejects(self, batch: pa.RecordBatch) -> None:
        if self._rejects is None:
            self._rejects = _RejectStream(self._connection, self._tables, _REJECTS_OF_TASK, self._task)
        self._rejects.write(batch.append_column(TASK, pa.repeat(pa.scalar(self._task, pa.int64()), batch.num_rows)))

    def commit(self) -> None:
        """End both streams, then commit both. A task that fails in between is not a winner, and its rows never count.
        The good rows end last and are committed first, because other tasks wait in between."""
        streams = [s for s in (self._rejects, self._good) if s is not None]
        for stream in streams:
            stream.finish()
        for stream in reversed(streams):
            stream.commit()

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        for stream in (self._good, self._rejects):
            if stream is not None:
                stream.close()


class _Stream(ABC):
    """One connection with one COPY."""

    def __init__(self, connection: Connection, tables: StagingTables, schema: pa.Schema, task: int) -> None:
        self._tables, self._schema, self._task = tables, schema, task
        self._encoder = ArrowToPostgresBinaryEncoder(schema)
        self._conn = connect(connection, application_name=f"flow run {tables.run_id}".strip())
        try:
            with translate():
                self._table = self._open_table()
                self._copy_block = self._conn.cursor().copy(_copy_statement(self._table, schema))
                self._copy: psycopg.Copy = self._copy_block.__enter__()
                self._copy.write(self._encoder.write_header())
        except BaseException:
            self._conn.close()
            raise

    @abstractmethod
    def _open_table(self) -> sql.Identifier:
        """Return the table to write to, in the stream's transaction."""

    def write(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self._schema.names]
        with translate():
            self._copy.write(self._encoder.write_batch(pa.record_batch(columns, schema=self._schema)))

    def finish(self) -> None:
        with translate():
            self._copy.write(self._encoder.finish())
            self._copy_block.__exit__(None, None, None)

    def commit(self) -> None:
        with translate():
            self._conn.commit()

    def close(self) -> None:
        """Close the connection. An unfinished COPY and its transaction are rolled back."""
        self._conn.close()


class _GoodStream(_Stream):
    """Fills a table of the task's own, which no other session sees before the task commits."""

    def _open_table(self) -> sql.Identifier:
        _require_types(self._conn, self._tables.good, self._schema)
        columns = {field.name: _postgres_name(field.type) or "" for field in self._schema}
        return create_task_table(self._conn, self._tables, self._task, columns)

    def finish(self) -> None:
        super().finish()
        with translate():
            attach(self._conn, self._tables, self._table)


class _RejectStream(_Stream):
    """Rejected rows of all tasks share a table, because they are few."""

    def _open_table(self) -> sql.Identifier:
        _require_types(self._conn, self._tables.rejects, self._schema)
        return self._tables.rejects_identifier


def _copy_statement(table: sql.Identifier, schema: pa.Schema) -> sql.Composed:
    names = sql.SQL(", ").join(map(sql.Identifier, schema.names))
    return sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(table, names)


def _require_types(conn: psycopg.Connection[TupleRow], table: str, schema: pa.Schema) -> None:
    """Refuse columns of another type than the staging table's: a binary COPY reads the bytes as sent (int8 would be
    read as float8)."""
    rows = conn.execute(
        "SELECT a.attname, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a"
        " JOIN pg_class c ON c.oid = a.attrelid"
        " WHERE c.relnamespace = to_regnamespace(%s) AND c.relname = %s AND a.attnum > 0",
        [STAGING, table],
    ).fetchall()
    staged: dict[str, str] = dict(rows)
    wrong = [f.name for f in schema if staged.get(f.name) != _postgres_name(f.type)]
    if wrong:
        raise Terminal(
            "staging.types_differ",
            f"Columns {', '.join(wrong)} have other types than in the staging table.",
            hint="The staging table is missing or has other columns. Start the run again.",
        )


def _postgres_name(kind: pa.DataType) -> str | None:
    if pa.types.is_decimal128(kind):
        return f"numeric({kind.precision},{kind.scale})"
    return _POSTGRES_NAMES.get(kind)


_POSTGRES_NAMES: dict[pa.DataType, str] = {
    pa.string(): "text",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp without time zone",
    pa.timestamp("us", "UTC"): "timestamp with time zone",
    pa.time64("us"): "time without time zone",
    pa.binary(): "bytea",
}
