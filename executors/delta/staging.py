"""Where tasks write their rows: Parquet files, in the types of the table, one for each task.

If a load adds its rows without reading them again, the files of tasks are those of the table: a commit adds them. Else
they have two more columns, the position of the row in the source, and are not part of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from executors.delta.folders import TableFolder, folder_of
from executors.secrets import decrypt_store
from executors.stage_plan import FILE, FLOW_RUN, RECORD, SOURCE_FILE_HASH, SOURCE_RECORD

if TYPE_CHECKING:
    from executors.destinations.base import StageWriter, StagingArea

GROUP_BYTES = 64 << 20
"""The size in memory of the rows that are written as one row group."""


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """The names of the files of one attempt at one load."""

    run_id: str
    node: str
    attempt: int

    def added(self, number: int) -> str:
        """Return the path of a file that a commit adds to the table. VACUUM deletes it if none does."""
        return f"{self.run_id}/{self._own}{number}.parquet"

    def is_added(self, path: str) -> bool:
        """Return whether this attempt has written the file."""
        return path.startswith(f"{self.run_id}/{self._own}")

    @property
    def folder(self) -> str:
        """The folder of the files that are not part of the table."""
        return f"_flow/staging/{self.run_id}/{self._own}"[:-1]

    def read_again(self, task: int) -> str:
        return f"{self.folder}/{task}.parquet"

    @property
    def _own(self) -> str:
        return f"{self.node}-{self.attempt}-"


@dataclass(frozen=True, slots=True)
class DeltaStagingArea:
    """`encrypted` is the connection of the store, from `executors.secrets.encrypt_store`; `schema` is that of the
    table. `hashes` are the SHA-256 of the files by their positions, where they are files. `is_read_again` means that
    the load reads the staged rows. `rejects` stages rejected rows, which are only counted without it."""

    encrypted: str = field(repr=False)
    table: tuple[str, str]
    files: StagedFiles
    schema: pa.Schema
    hashes: Mapping[int, str]
    is_read_again: bool
    rejects: StagingArea | None = None

    def open(self, schema: pa.Schema, task: int) -> DeltaStageWriter:
        folder = folder_of(decrypt_store(self.encrypted), *self.table)
        path = self.files.read_again(task) if self.is_read_again else self.files.added(task)
        rejects = self.rejects.open(schema, task) if self.rejects else None
        return DeltaStageWriter(folder, path, self, rejects)


class DeltaStageWriter:
    """Writes the rows of one task. The file exists once `commit` has returned, and only if there are rows."""

    def __init__(
        self, folder: TableFolder, path: str, area: DeltaStagingArea, rejects: StageWriter | None = None
    ) -> None:
        self._folder, self._path, self._area, self._rejects = folder, path, area, rejects
        self._writer: ParquetFile | None = None

    def __enter__(self) -> DeltaStageWriter:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if self._rejects is not None:
            self._rejects.__exit__(kind, value, traceback)
        if self._writer is not None:
            self._writer.abandon()

    def write_good(self, batch: pa.RecordBatch) -> None:
        rows = _in_schema(batch, self._area)
        if self._writer is None:
            self._writer = ParquetFile(self._folder, self._path, rows.schema)
        self._writer.write(rows)

    def write_rejects(self, batch: pa.RecordBatch) -> None:
        if self._rejects is not None:
            self._rejects.write_rejects(batch)

    def commit(self) -> None:
        """The file is named only by tasks that have committed, so the rejected rows come first."""
        if self._rejects is not None:
            self._rejects.commit()
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class ParquetFile:
    """Writes one file of a table, in large row groups."""

    def __init__(self, folder: TableFolder, path: str, schema: pa.Schema) -> None:
        self._schema, self._waiting, self._bytes = schema, list[pa.RecordBatch](), 0
        self._stream = folder.open_output(path)
        self._writer = pq.ParquetWriter(self._stream, schema, compression="zstd")

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= GROUP_BYTES:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._stream.close()

    def abandon(self) -> None:
        """Release the stream after a failure. The file may be incomplete; no commit names it."""
        self._waiting.clear()
        self._writer.close()
        self._stream.close()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self._bytes = [], 0


def _in_schema(batch: pa.RecordBatch, area: DeltaStagingArea) -> pa.RecordBatch:
    """Return the rows with the columns of the table that they have, and those that the load fills."""
    filled = _filled(batch, area)
    columns: dict[str, pa.Array] = {}
    for column in area.schema:
        if column.name in filled:
            columns[column.name] = filled[column.name]
        elif column.name in batch.schema.names:
            columns[column.name] = batch.column(column.name).cast(column.type)
    if area.is_read_again:
        columns |= {FILE: batch.column(FILE), RECORD: batch.column(RECORD)}
    names = [column for column in area.schema if column.name in columns]
    if area.is_read_again:
        names += [batch.schema.field(FILE), batch.schema.field(RECORD)]
    return pa.RecordBatch.from_arrays([columns[field.name] for field in names], schema=pa.schema(names))


def _filled(batch: pa.RecordBatch, area: DeltaStagingArea) -> Mapping[str, pa.Array]:
    """Return the columns that loads fill, where the table has them in the types that Flow creates."""
    rows = batch.num_rows
    values: dict[str, pa.Array] = {FLOW_RUN: pa.array([area.files.run_id] * rows, pa.string())}
    if area.hashes:
        files, hashes = zip(*area.hashes.items(), strict=True)
        positions = pc.index_in(batch.column(FILE), value_set=pa.array(files, pa.int32()))
        values[SOURCE_FILE_HASH] = pa.array(hashes, pa.string()).take(positions)
        values[SOURCE_RECORD] = batch.column(RECORD)
    types = {column.name: column.type for column in area.schema}
    return {name: column for name, column in values.items() if types.get(name) == column.type}
