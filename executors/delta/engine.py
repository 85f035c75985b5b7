"""DuckDB over the files of a load. It runs in the worker's process, in limited memory; what exceeds it goes to disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa
from psycopg import sql
from pyarrow import dataset as ds

from executors.delta.plan import DeltaPlan
from executors.errors import Cancelled, Terminal, Transient

MEMORY = "1GB"
BATCH_ROWS = 65_536


class Engine:
    """A database in memory. Statements are composed with `psycopg.sql`, whose quoting DuckDB shares."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, statement: sql.Composable) -> None:
        self._connection.execute(statement.as_string())

    def rows(self, statement: sql.Composable) -> Sequence[tuple[Any, ...]]:
        return self._connection.execute(statement.as_string()).fetchall()

    def number(self, statement: sql.Composable) -> int:
        return int(self.rows(statement)[0][0] or 0)

    def batches(self, statement: sql.Composable, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a query in these types."""
        for batch in _raising(self._connection.sql(statement.as_string()).to_arrow_reader(BATCH_ROWS)):
            arrays = [batch.column(field.name).cast(field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @contextmanager
    def reading(self, name: str, rows: pa.RecordBatchReader | ds.Dataset | pa.Table) -> Iterator[None]:
        """Let the statements of the block read rows by this name; a stream only once."""
        self._connection.register(name, rows)
        try:
            yield
        finally:
            self._connection.unregister(name)


_ERRORS = {"INTERRUPT Error": duckdb.InterruptException, "Out of Memory Error": duckdb.OutOfMemoryException}
"""By the beginning of the text. The failures of others do not differ."""


def _raising(batches: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """Yield the batches. After the first of them, errors of DuckDB arrive as errors of Arrow, which only quote them."""
    try:
        yield from batches
    except (OSError, pa.ArrowException) as error:
        text = str(error)
        raise _ERRORS.get(text.partition(": ")[0], duckdb.Error)(text) from None


@contextmanager
def open_engine(plan: DeltaPlan) -> Iterator[Engine]:
    """Open an engine whose errors are failures. A cancellation interrupts its statement."""
    with tempfile.TemporaryDirectory(prefix="flow-delta-") as folder:
        connection = duckdb.connect(
            config={
                "memory_limit": MEMORY,
                "temp_directory": folder,
                "preserve_insertion_order": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            }
        )
        plan.on_cancel(connection.interrupt)
        try:
            connection.execute(
                "SET TimeZone = 'UTC'; SET enable_external_access = false; SET lock_configuration = true"
            )
            yield Engine(connection)
        except duckdb.InterruptException:
            raise Cancelled("target.cancelled", "The load was interrupted.", node=plan.run.node) from None
        except duckdb.OutOfMemoryException:
            raise Terminal(
                "target.merge_too_large",
                f"The rows of {plan.log.folder.name} do not fit into {MEMORY} of memory and the temporary folder.",
                node=plan.run.node,
                hint="Free space in the temporary folder of the worker, or load in smaller parts.",
            ) from None
        except duckdb.Error as error:
            # Its text may have values of rows.
            raise Transient(
                "target.merge_failed",
                f"Comparing the rows with those of {plan.log.folder.name} failed: {type(error).__name__}.",
                node=plan.run.node,
            ) from None
        finally:
            connection.close()
